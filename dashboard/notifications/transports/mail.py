"""Mail through the site's own server (EMAIL_URL): a channel holds the recipients alone."""

from email.mime.image import MIMEImage
from smtplib import SMTPException

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.mail import EmailMultiAlternatives
from django.core.validators import validate_email

from dashboard.notifications.core.kinds import MAIL_PREFIX
from dashboard.notifications.transports.deadline import no_answer, within_deadline
from dashboard.notifications.transports.message import IMAGE_NAME, Address, Message, NotSent

NO_SERVER = (
    "This site has no mail server: set EMAIL_URL, as smtp+tls://user:password@smtp.example.org:587."
)


def send(to: Address, message: Message, delivery: str) -> str:
    """Hand the message to the site's mail server; what became of it. Raises NotSent."""
    recipients = recipients_of(to)
    mail = EmailMultiAlternatives(
        subject=message.subject,
        body=message.text,
        to=recipients,
        headers={"Auto-Submitted": "auto-generated"},
    )
    mail.attach_alternative(message.html, "text/html")
    if message.image is not None:
        # The chart stands within the text; the stubs are those of a later Django
        mail.mixed_subtype = "related"  # type: ignore[attr-defined]
        image = MIMEImage(message.image)
        image["Content-ID"] = f"<{IMAGE_NAME}>"
        image["Content-Disposition"] = f'inline; filename="{IMAGE_NAME}"'
        mail.attach(image)
    try:
        within_deadline(settings.EMAIL_HOST, mail.send)
    except (SMTPException, OSError) as error:
        # smtplib makes an error of its own of a single answer that took too long
        if TimeoutError in {type(error), type(error.__context__)}:
            raise no_answer(settings.EMAIL_HOST, settings.EMAIL_TIMEOUT) from None
        raise NotSent(f"{settings.EMAIL_HOST} did not take the mail: {error}") from None
    return f"{settings.EMAIL_HOST} took the mail to {', '.join(recipients)}."


def recipients_of(to: Address) -> list[str]:
    """The addresses of a channel. Raises NotSent for one that is none, or without a server."""
    recipients = to.url.removeprefix(MAIL_PREFIX).replace(",", " ").split()
    if not recipients:
        raise NotSent("Write at least one e-mail address, as team@example.org.", permanent=True)
    for recipient in recipients:
        try:
            validate_email(recipient)
        except ValidationError:
            raise NotSent(f"“{recipient}” is not an e-mail address.", permanent=True) from None
    if not settings.EMAIL_URL:
        raise NotSent(NO_SERVER, permanent=True)
    return recipients


def masked(url: str) -> str:
    """The recipients: nothing in them is secret."""
    return url.removeprefix(MAIL_PREFIX)
