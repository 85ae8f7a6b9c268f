# SPDX-License-Identifier: BSD-3-Clause
"""A page in Markdown from a public header: the comments become text, the declarations stay code."""
import re

# What a header needs and a reader does not.
SCAFFOLDING = re.compile(r"/\* SPDX-.*\*/|#pragma once|#include .*|G_(BEGIN|END)_DECLS")
SECTION = re.compile(r"---- (.*?) ----\s*")
NAMES = re.compile(
    r"^ *#define (\w+)"  # a macro
    r"|^(?:CT_EXPORT|static inline) [^;{]*?\b(ct_\w+)\("  # a function
    r"|^typedef [^;{]*?\(\*(\w+)\)\("  # the type of a function
    r"|^typedef [^;{(]*\b(\w+);|^\} (\w+);"  # a type
    r"|^struct (\w+) \{", re.M)


def entries(text):
    """Yields the top-level pieces of a header as (comment, code), either of them empty if absent.

    A piece ends at a blank line, where the comment of the next one begins, and before a second
    function."""
    comment, code, depth = "", [], 0
    lines = iter(line for line in text.splitlines() if not SCAFFOLDING.fullmatch(line))
    for line in lines:
        starts_comment = line.startswith("/*")
        ends = not line or starts_comment or (
            line.startswith("CT_EXPORT ") and any(before.startswith("CT_EXPORT ") for before in code))
        if depth == 0 and ends and (comment or code):
            yield comment, "\n".join(code)
            comment, code = "", []
        if depth == 0 and starts_comment:
            block = [line]
            while "*/" not in block[-1]:
                block.append(next(lines))
            comment = plain(block)
        elif line or depth:
            code.append(line)
            depth += line.count("{") - line.count("}")
    if comment or code:
        yield comment, "\n".join(code)


def plain(block):
    """The text of a comment of whole lines, without its marks."""
    text = "\n".join(re.sub(r"^ \* ?", "", line) for line in block)
    return text.removeprefix("/* ").removesuffix("*/").strip()


def names(code):
    """What the code declares, without the helpers whose names end with an underscore."""
    found = ["".join(match.groups(default="")) for match in NAMES.finditer(code)]
    return [name for name in dict.fromkeys(found) if not name.endswith("_")]


def page(name, text):
    """The page of the header that is included as `name`."""
    parts = [f"# {name}"]
    for comment, code in entries(text):
        section = SECTION.match(comment)
        if section:
            parts.append(f"## {section[1][0].upper()}{section[1][1:]}")
            comment = comment[section.end():]
        if names(code):
            parts.append("### " + ", ".join(names(code)))
        parts += [comment] if comment else []
        parts += [f"```c\n{code}\n```"] if code else []
    return "\n\n".join(parts) + "\n"
