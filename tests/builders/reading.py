"""The text of a page, as a visitor gets it."""

from django.test import Client


def text(client: Client, url: str) -> str:
    """The page's HTML, of an address that has to exist."""
    response = client.get(url)
    assert response.status_code == 200, url
    return response.content.decode()
