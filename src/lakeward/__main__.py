"""Makes `python -m lakeward` the same as `lakeward`."""

from lakeward.cli.main import main

main()
