"""Commands that people are told to run: whatever a client called itself, a shell reads it as one word."""

import shlex


def command(*words: object) -> str:
    """A command line of ours, to be pasted."""
    return shlex.join(["oncelog", *(str(each) for each in words)])


def about(verb: str, transactional_id: str, *more: object) -> str:
    """`oncelog txn VERB` of one id, also of one that looks like an option."""
    named = f"--transactional-id={transactional_id}" if transactional_id.startswith("-") else transactional_id
    return command("txn", verb, named, *more)
