"""Secret values, and masking them in output.

>>> token = Secret("s3cr3t-token")
>>> f"{token!r} {token} {token.reveal()}"
"Secret('••••') •••• s3cr3t-token"
>>> Masker([token.reveal()]).text("Bearer s3cr3t-token")
'Bearer ••••'
"""

from svctoolkit.secrets._masker import Masker
from svctoolkit.secrets._named import NamedSecrets
from svctoolkit.secrets._secret import MASK, Form, Secret, placeholder, reveal, secret_texts, with_values
from svctoolkit.secrets._spellings import json_credentials
from svctoolkit.secrets._strength import is_credential, is_ordinary
from svctoolkit.secrets._words import is_secret_header, is_secret_name

__all__ = [
    "MASK",
    "Form",
    "Masker",
    "NamedSecrets",
    "Secret",
    "is_credential",
    "is_ordinary",
    "is_secret_header",
    "is_secret_name",
    "json_credentials",
    "placeholder",
    "reveal",
    "secret_texts",
    "with_values",
]
