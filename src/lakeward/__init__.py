"""Lakeward moves Kafka topics into lakehouse tables, exactly once, on Spark."""

__all__ = ["__version__"]

__version__ = "0.1.0"
