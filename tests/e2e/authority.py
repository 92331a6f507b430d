"""A certificate authority of a test's own."""

import subprocess


class Authority:
    """Makes keys and certificates in a folder."""

    def __init__(self, folder, name):
        self.folder = folder
        self.name = name
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                     "-nodes", "-subj", f"/CN={name}", "-days", "2",
                     "-keyout", self.key(name), "-out", self.certificate(name))

    def key(self, name):
        return self.folder / f"{name}.key"

    def certificate(self, name):
        return self.folder / f"{name}.pem"

    def openssl(self, *words):
        subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)

    def sign(self, name, hosts="IP:127.0.0.1,DNS:localhost"):
        """Makes a key and a certificate for hosts, by default this one."""
        request, extension = self.folder / f"{name}.csr", self.folder / f"{name}.ext"
        extension.write_text(f"subjectAltName={hosts}\n")
        self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                     "-subj", f"/CN={name}", "-keyout", self.key(name), "-out", request)
        self.openssl("x509", "-req", "-in", request, "-CA", self.certificate(self.name),
                     "-CAkey", self.key(self.name), "-CAcreateserial", "-days", "2",
                     "-extfile", extension, "-out", self.certificate(name))
