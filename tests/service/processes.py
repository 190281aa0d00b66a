"""The real command ``discreet serve`` as a process of its own, and a token for somebody."""

import contextlib
import datetime as dt
import ipaddress
import json
import os
import ssl
import subprocess
import sys
import time

import httpx
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from discreet.service import read_site
from discreet.service.credentials import Tokens
from discreet.service.directory import Directory
from discreet.service.state import SecurityLog, StateStore

PROGRAM = [sys.executable, "-m", "discreet.cli", "serve", "site.toml", "--port", "0"]


def token(path, name):
    """Make a token before the server runs."""
    site = read_site(path)
    site.state.mkdir(mode=0o700, parents=True, exist_ok=True)
    log, store = SecurityLog(site.state / "security.log"), StateStore(site.state / "state.sqlite")
    try:
        directory = Directory(site, log=log)
        caller = directory.find(name)
        return Tokens(store, directory, log=log).make(caller, scope=caller.allowed)
    finally:
        store.close()
        log.close()


def certified(folder):
    """Write a certificate of its own issuer for this machine, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "clinic")])
    now = dt.datetime.now(dt.UTC)
    here = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=2))
        .add_extension(here, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "clinic.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    (folder / "clinic.key").write_bytes(private)
    (folder / "clinic.key").chmod(0o600)


class ServerProcess:
    """A server that was started by its command."""

    def __init__(self, folder, *people):
        self.folder = folder
        self.tokens = {name: token(folder / "site.toml", name) for name in people}
        self.process = subprocess.Popen(
            PROGRAM, cwd=folder, stderr=subprocess.PIPE, text=True, env={**os.environ}
        )
        self.first = self.process.stderr.readline()
        self.link = self.process.stderr.readline()
        self.url = self.first.split()[-1] if self.first else ""

    @property
    def context(self):
        """Whom a client trusts."""
        return ssl.create_default_context(cafile=self.folder / "clinic.pem")

    @contextlib.contextmanager
    def client(self, name):
        headers = {"Authorization": f"Bearer {self.tokens[name]}"}
        trust = self.context if self.url.startswith("https") else True
        with httpx.Client(base_url=self.url, headers=headers, timeout=120, verify=trust) as client:
            yield client

    def log(self):
        """Return the events of the security log."""
        text = (self.folder / "site.state" / "security.log").read_text()
        return [json.loads(line)["event"] for line in text.splitlines()]

    def stop(self, number):
        self.process.send_signal(number)
        code = self.process.wait(120)
        self.process.stderr.close()
        return code


def until(condition, seconds=120):
    """Wait for something."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)
