"""Failing programs as students write them, by family; `test_explain.py` runs, explains and fixes each."""

import importlib
import pkgutil

from explain_cases.case import Case

CASES: list[Case] = [
    case
    for module in pkgutil.iter_modules(__path__)
    if module.name != "case"
    for case in importlib.import_module(f"explain_cases.{module.name}").CASES
]
