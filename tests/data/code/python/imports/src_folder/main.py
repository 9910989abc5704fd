import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "src"))

from warehouse.cli import run

run(["add", "bolt", "5"])
run(["list"])
