"""Stores that are neither S3 nor a web server: Azurite, which is Microsoft's own emulator of Azure Blob Storage, and a server with
the requests of Google Cloud Storage. What the program writes there, other clients read, and the other way round."""

import contextlib
import json
import logging
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

AZURITE = "azurite@3.35.0"
# The account and the key that every Azurite has; they are published and protect nothing.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
BUCKET = "elsewhere"


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
    """A store: its scheme, the environment of the program, and another client of it."""

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
    """Google's interface of XML is the one of S3 apart from how requests are signed, so that moto's server of S3 answers them, once
    the signature, here an empty one, is taken away. (The emulators of Google Cloud Storage on PyPI know only its interface of JSON.)"""
    import boto3
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    inner = DomainDispatcherApplication(create_backend_app)

    def unsigned(environment, start):
        if environment.get("HTTP_AUTHORIZATION", "").startswith("Bearer"):
            del environment["HTTP_AUTHORIZATION"]
        return inner(environment, start)

    server = make_server("127.0.0.1", 0, unsigned, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        endpoint = f"http://127.0.0.1:{server.server_port}"
        client = boto3.client(
            "s3", endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id="any", aws_secret_access_key="any",
        )
        client.create_bucket(Bucket=BUCKET, ACL="public-read-write")
        account = {
            "private_key": "any", "private_key_id": "any", "client_email": "any", "disable_oauth": True, "gcs_base_url": endpoint,
        }
        yield Store(
            "gs",
            {"GOOGLE_SERVICE_ACCOUNT_KEY": json.dumps(account), "GOOGLE_ALLOW_HTTP": "true"},
            lambda name, data: client.put_object(Bucket=BUCKET, Key=name, Body=data, ACL="public-read"),
            lambda name: client.get_object(Bucket=BUCKET, Key=name)["Body"].read(),
            lambda: [found["Key"] for found in client.list_objects_v2(Bucket=BUCKET).get("Contents", [])],
        )
    finally:
        server.shutdown()
        thread.join()


if __name__ == "__main__":
    # By hand: remote_emulators.py azure|google PROGRAM ARGUMENTS…
    with globals()[sys.argv[1]]() as store:
        subprocess.run(sys.argv[2:], env={**os.environ, **store.environment})
        print(store.names())
