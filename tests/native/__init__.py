"""What tests say when they cannot run on compiled modules."""

import pytest

from oncelog.native import is_taken


def sources_only(why: str) -> pytest.MarkDecorator:
    """For a test that puts its own attributes into a compiled class, or inherits from one that is closed."""
    return pytest.mark.skipif(is_taken(), reason=f"sources only: {why}")
