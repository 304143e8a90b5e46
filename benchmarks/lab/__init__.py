"""What all benchmarks share: ground to run on, meters, engines, figures, charts."""
