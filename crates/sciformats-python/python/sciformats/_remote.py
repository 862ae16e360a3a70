"""Files behind URLs: which texts are URLs, and the options that programs give for them.

The options have the names that users of fsspec, s3fs, obstore and of the stores' own tools know. They are divided into those that
may be seen and those that are secret. A pickle contains the former only, unless the caller permits more.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit, urlunsplit

#: The schemes of URLs that are opened.
_SCHEMES = ("http", "https", "s3", "gs", "az")

#: The settings of stores for the short names of other programs, by the scheme of the URL.
_SHORT = {
    "s3": {
        "key": "AWS_ACCESS_KEY_ID",
        "secret": "AWS_SECRET_ACCESS_KEY",
        "token": "AWS_SESSION_TOKEN",
        "endpoint_url": "AWS_ENDPOINT_URL",
        "region": "AWS_REGION",
        "region_name": "AWS_REGION",
        "anon": "AWS_SKIP_SIGNATURE",
    },
    "gs": {"token": "GOOGLE_SERVICE_ACCOUNT", "anon": "GOOGLE_SKIP_SIGNATURE"},
    "az": {
        "account_name": "AZURE_STORAGE_ACCOUNT_NAME",
        "account_key": "AZURE_STORAGE_ACCOUNT_KEY",
        "sas_token": "AZURE_STORAGE_SAS_KEY",
        "anon": "AZURE_SKIP_SIGNATURE",
    },
}

#: How the names of settings begin.
_STORES = ("AWS_", "GOOGLE_", "AZURE_")

#: Settings that are no secrets; all others are.
_OPEN = frozenset(
    {
        "AWS_ALLOW_HTTP",
        "AWS_ENDPOINT_URL",
        "AWS_REGION",
        "AWS_DEFAULT_REGION",
        "AWS_SKIP_SIGNATURE",
        "AWS_VIRTUAL_HOSTED_STYLE_REQUEST",
        "GOOGLE_SKIP_SIGNATURE",
        "AZURE_STORAGE_ACCOUNT_NAME",
        "AZURE_SKIP_SIGNATURE",
    }
)

#: The options of all URLs, and whether each is a secret.
_GENERAL = {
    "headers": True,
    "netrc": False,
    "connections": False,
    "timeout": False,
    "retries": False,
    "certificates": False,
    "environment": False,
    "pickle_credentials": False,
    "client_kwargs": False,
}

#: How the names of parameters end that sign a URL or say who asks, in lower case.
_SIGNATURES = ("signature", "sig", "token", "credential", "accesskeyid", "password", "passwd", "pwd", "secret", "key", "auth", "jwt")


class Storage(NamedTuple):
    """How a remote file is opened."""

    #: The options without secrets, in an order that does not depend on the caller.
    shown: tuple[tuple[str, Any], ...] = ()
    secret: tuple[tuple[str, Any], ...] = ()
    #: Whether pickles may contain the secrets.
    told: bool = False

    def __repr__(self) -> str:
        return f"<Storage with {', '.join(name for name, _ in (*self.shown, *self.secret)) or 'no options'}>"

    def without_secrets(self) -> Storage:
        """Return what a pickle contains, unless the caller permits more."""
        return self._replace(secret=())

    def arguments(self) -> dict[str, Any]:
        """Return what the Rust part takes."""
        made: dict[str, Any] = {"headers": [], "settings": []}
        for name, value in (*self.shown, *self.secret):
            if name == "headers":
                made["headers"].extend(value)
            elif name.startswith(_STORES):
                made["settings"].append((name, value))
            else:
                made[name] = value
        return made


def is_url(file: Any) -> bool:
    """Return whether a path is the URL of a remote file."""
    return isinstance(file, str) and file.partition("://")[0].lower() in _SCHEMES and "://" in file


def bare(url: str) -> str:
    """Return a URL without its password and without its query, which may sign it. Keys of stores are literal and have neither."""
    if url.partition("://")[0].lower() not in ("http", "https"):
        return url
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


def is_secret(url: str) -> bool:
    """Return whether a URL contains a password, a signature or a key."""
    if url.partition("://")[0].lower() not in ("http", "https"):
        return False
    parts = urlsplit(url)
    names = [name.lower() for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
    return "@" in parts.netloc or any(name.endswith(_SIGNATURES) for name in names)


def storage_of(url: str, options: Mapping[str, Any] | None) -> Storage:
    """Return how a URL is opened.

    Raises
    ------
    TypeError, ValueError
        If there is no such option, or its value has the wrong type.
    """
    if options is None:
        return Storage()
    given = dict(options)
    scheme = url.partition("://")[0].lower()
    short = _SHORT.get(scheme, {})
    more = given.pop("client_kwargs", None) or {}
    shown: dict[str, Any] = {}
    secret: dict[str, Any] = {}
    told = bool(given.pop("pickle_credentials", False))
    for name, value in [*given.items(), *more.items()]:
        if value is None:
            continue
        upper: str = short[name] if name in short else name.upper()
        if name in _GENERAL and name not in short:
            (secret if _GENERAL[name] else shown)[name] = _checked(name, value)
        elif upper.startswith(_STORES) and scheme not in ("http", "https"):
            text = str(value).lower() if isinstance(value, bool) else str(value)
            (shown if upper in _OPEN else secret)[upper] = text
        else:
            known = [*(name for name in _GENERAL), *short]
            near = difflib.get_close_matches(name, known, 1)
            hint = f"; the most similar one is {near[0]!r}" if near else ""
            raise ValueError(f"storage_options have no option {name!r} for URLs of {scheme}{hint}")
    if str(shown.get("AWS_ENDPOINT_URL", "")).startswith("http://"):
        shown.setdefault("AWS_ALLOW_HTTP", "true")
    return Storage(tuple(sorted(shown.items())), tuple(sorted(secret.items())), told)


def _checked(name: str, value: Any) -> Any:
    if name == "headers":
        if not isinstance(value, Mapping):
            raise TypeError("the option headers of storage_options must be a dictionary of texts")
        return tuple((str(key), str(text)) for key, text in value.items())
    if name == "certificates":
        return value.encode() if isinstance(value, str) else bytes(value)
    if name in ("connections", "retries"):
        return int(value)
    if name == "timeout":
        return float(value)
    if name == "environment":
        return bool(value)
    return str(value)
