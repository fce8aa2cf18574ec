"""The text of a page, as a visitor gets it."""

import re
from typing import Any

from django.test import Client


def text(client: Client, url: str) -> str:
    """The page's HTML, of an address that has to exist."""
    response = client.get(url)
    assert response.status_code == 200, url
    return page_text(response)


def page_text(response: Any) -> str:
    """The HTML with white space as a browser shows it: one space, none next to a block's tags."""
    one_spaced = re.sub(r"\s+", " ", response.content.decode())
    return re.sub(r" ?(</?(?:t[rdh]|thead|tbody|li|p|div|dd|dt|h\d)\b[^>]*>) ?", r"\1", one_spaced)
