"""Files that hold a plan, changed where the plan has changed and nowhere else."""

from .csv import update as update_csv
from .json import update as update_json
from .markdown import update as update_markdown

__all__ = ["update_csv", "update_json", "update_markdown"]
