"""Stores that are neither S3 nor a web server: Azurite, which is Microsoft's own emulator of Azure Blob Storage, and an emulator of
Google Cloud Storage. What the program writes there, the clients of the two companies read, and the other way round."""

import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

AZURITE = "azurite@3.35.0"
# The account and the key that every Azurite has; they are published and protect nothing.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
BUCKET = "measured"


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def wait_for(port, server):
    for _ in range(200):
        if server.poll() is not None:
            raise RuntimeError(f"the emulator ended with status {server.returncode}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    raise RuntimeError("the emulator does not listen")


@contextlib.contextmanager
def running(command, port):
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(port, server)
        yield
    finally:
        server.terminate()
        server.wait(timeout=20)


def azurite():
    """The path of Azurite, which npm installs once; `None` without node."""
    folder = pathlib.Path(sys.prefix).parent / "azurite"
    program = folder / "node_modules" / ".bin" / "azurite-blob"
    if not program.exists():
        npm = shutil.which("npm")
        if not npm:
            return None
        folder.mkdir(exist_ok=True)
        subprocess.run([npm, "install", "--no-audit", "--no-fund", "--prefix", folder, AZURITE], check=True, stdout=subprocess.DEVNULL)
    return program


class Store:
    """A store: its scheme, the environment of the program, and the client of its maker."""

    def __init__(self, scheme, environment, put, get, names):
        self.scheme, self.environment, self.put, self.get, self.names = scheme, environment, put, get, names


@contextlib.contextmanager
def azure():
    from azure.storage.blob import BlobServiceClient

    port = free_port()
    with tempfile.TemporaryDirectory() as place:
        command = [azurite(), "--silent", "--blobHost", "127.0.0.1", "--blobPort", str(port), "--location", place]
        with running([*map(str, command), "--skipApiVersionCheck"], port):
            endpoint = f"http://127.0.0.1:{port}/{ACCOUNT}"
            client = BlobServiceClient(endpoint, credential=KEY).create_container(BUCKET)
            yield Store(
                "az",
                {"AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT, "AZURE_STORAGE_ACCOUNT_KEY": KEY, "AZURE_STORAGE_ENDPOINT": endpoint,
                 "AZURE_ALLOW_HTTP": "true"},
                lambda name, data: client.upload_blob(name, data, overwrite=True),
                lambda name: client.download_blob(name).readall(),
                lambda: [blob.name for blob in client.list_blobs()],
            )


@contextlib.contextmanager
def google():
    from google.auth.credentials import AnonymousCredentials
    from google.cloud import storage

    port = free_port()
    program = pathlib.Path(sys.prefix) / "bin" / "gcp-storage-emulator"
    command = [program, "start", "--host", "127.0.0.1", "--port", str(port), "--in-memory", "--default-bucket", BUCKET]
    with running([*map(str, command)], port):
        endpoint = f"http://127.0.0.1:{port}"
        client = storage.Client("test", AnonymousCredentials(), client_options={"api_endpoint": endpoint})
        bucket = client.bucket(BUCKET)
        yield Store(
            "gs",
            {"GOOGLE_BASE_URL": endpoint, "GOOGLE_SKIP_SIGNATURE": "true", "GOOGLE_ALLOW_HTTP": "true"},
            lambda name, data: bucket.blob(name).upload_from_string(data),
            lambda name: bucket.blob(name).download_as_bytes(),
            lambda: [blob.name for blob in client.list_blobs(BUCKET)],
        )


if __name__ == "__main__":
    # By hand: remote_emulators.py azure|google PROGRAM ARGUMENTS…
    with globals()[sys.argv[1]]() as store:
        subprocess.run(sys.argv[2:], env={**os.environ, **store.environment})
        print(store.names())
