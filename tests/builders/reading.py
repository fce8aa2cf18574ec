"""What a page says to somebody who opens it."""

from django.test import Client


def text(client: Client, url: str) -> str:
    """The page's HTML; it must be there."""
    response = client.get(url)
    assert response.status_code == 200, url
    return response.content.decode()
