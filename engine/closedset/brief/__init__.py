"""A brief: a request in plain language, compiled to constraints by one model call and checked against its words.

`compile_tool(pack)` is the tool a model is made to call, `read_compile_output(brief, pack, said)` the check of
what it said; `compile_brief` is both with the call between them. Importing this imports no model's library.
"""

from closedset.brief.check import Compiled, read_compile_output
from closedset.brief.compile import Model, Said, compile_brief
from closedset.brief.tool import compile_tool

__all__ = ["Compiled", "Model", "Said", "compile_brief", "compile_tool", "read_compile_output"]
