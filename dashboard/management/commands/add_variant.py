"""manage.py add_variant: a known build with environment variables or Inductor settings."""

from typing import Any

import orjson
from django.core.management.base import CommandError, CommandParser

from dashboard.catalog.core.plan import PlanError
from dashboard.catalog.selectors.lookups import find_build
from dashboard.catalog.services.builds import add_variant
from dashboard.management.site_command import SiteCommand


class Command(SiteCommand):
    help = (
        "Add a variant of a build: the same PyTorch with other environment variables or "
        "Inductor settings."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("base", help="label of the build, as 2.13.0+cpu")
        parser.add_argument(
            "name", help="name of the variant: lower-case letters, digits and . _ -"
        )
        parser.add_argument(
            "--env",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="a variable; repeatable",
        )
        parser.add_argument(
            "--inductor",
            action="append",
            default=[],
            metavar="KEY=JSON",
            help="an attribute of torch._inductor.config; repeatable",
        )

    def handle(
        self, *, base: str, name: str, env: list[str], inductor: list[str], **_: Any
    ) -> None:
        try:
            variant = add_variant(
                base=find_build(base),
                name=name,
                env=dict(map(split, env)),
                inductor={key: orjson.loads(value) for key, value in map(split, inductor)},
            )
        except orjson.JSONDecodeError as error:
            raise CommandError(
                f'--inductor takes KEY=JSON, as max_fusion_size=1 or some_text="a": {error}'
            ) from None
        except PlanError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(variant.label)


def split(text: str) -> tuple[str, str]:
    """NAME=VALUE in two. Raises CommandError."""
    name, equals, value = text.partition("=")
    if not equals:
        raise CommandError(f"{text!r}: write it as NAME=VALUE")
    return name, value
