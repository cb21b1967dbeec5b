"""Commands that people are told to run: whatever a client called itself, a shell reads it as one word, and as that name alone."""

import json
import shlex
from typing import Final

from oncelog.inspect.terminal import is_plain

AS_JSON: Final = "--transactional-id-json"  # the option of our commands for a name that no shell can be given


def command(*words: object) -> str:
    """A command line of ours, to be pasted."""
    return " ".join(["oncelog", *(_quoted(str(each)) for each in words)])


def about(verb: str, transactional_id: str, *more: object) -> str:
    """`oncelog txn VERB` of one id, also of one that looks like an option, or like another one: with characters that nobody sees,
    that a terminal eats, or that not every shell can spell.
    """
    if not is_plain(transactional_id):
        named = f"{AS_JSON}={json.dumps(transactional_id)}"
    elif transactional_id.startswith("-"):
        named = f"--transactional-id={transactional_id}"
    else:
        named = transactional_id
    return command("txn", verb, named, *more)


def _quoted(word: str) -> str:
    """What cannot be seen as bytes in the quotes of bash, zsh and ksh; no argument can hold a zero byte."""
    if is_plain(word):
        return shlex.quote(word)
    shown = (
        each if is_plain(each) and each not in "\\'" else "".join(f"\\x{byte:02x}" for byte in each.encode())
        for each in word.replace("\0", "\ufffd")
    )
    return f"$'{''.join(shown)}'"
