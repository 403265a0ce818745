"""Certificates for tests, made with the openssl command: an authority, and pairs that it signed."""

import subprocess


def openssl(*argv, **kwargs):
    return subprocess.run(["openssl", *map(str, argv)], check=True, capture_output=True, text=True, **kwargs).stdout


class Authority:
    def __init__(self, folder, name="test authority"):
        self.dir = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.cert, self.key = folder / "ca_cert.pem", folder / "ca_cert_key.pem"
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-subj", f"/CN={name}", "-keyout", self.key, "-out", self.cert,
                "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign")
        self.key.chmod(0o600)

    def pair(self, folder, prefix, name=None, expired=False, names=None):
        """PREFIX_cert.pem and PREFIX_cert_key.pem in a folder; names: as subjectAltName has them."""
        cert, key = folder / f"{prefix}_cert.pem", folder / f"{prefix}_cert_key.pem"
        request = openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                          "-subj", f"/CN={name or prefix}", "-keyout", key)
        if expired:  # `x509 -req` wants at least a day, `ca` takes dates
            signed = self.ca("-startdate", "20200101000000Z", "-enddate", "20200102000000Z", "-notext",
                             "-in", "/dev/stdin", "-out", cert, input=request)
        else:
            more = folder / f"{prefix}.ext"
            more.write_text(f"subjectAltName={names}\n" if names else "")
            signed = openssl("x509", "-req", "-days", "1", "-CA", self.cert, "-CAkey", self.key, "-CAcreateserial",
                             "-out", cert, "-extfile", more, input=request)
        key.chmod(0o600)
        return signed

    def ca(self, *argv, **kwargs):
        """openssl ca, which keeps books."""
        (self.dir / "index.txt").touch()
        (self.dir / "serial").write_text("01\n")
        (self.dir / "ca.conf").write_text(
            f"[ca]\ndefault_ca=c\n[c]\ndatabase={self.dir}/index.txt\nserial={self.dir}/serial\n"
            f"new_certs_dir={self.dir}\ndefault_md=sha256\npolicy=p\n[p]\ncommonName=supplied\n")
        return openssl("ca", "-batch", "-config", self.dir / "ca.conf", "-cert", self.cert, "-keyfile", self.key, *argv, **kwargs)

    def revoke(self, cert):
        """A list of revoked certificates with this one in it."""
        self.ca("-revoke", cert)
        path = self.dir / "crl.pem"
        self.ca("-gencrl", "-crldays", "2", "-out", path)
        return path

    def install(self, folder, *prefixes):
        """The authority's certificate and a pair of each in a folder of configuration."""
        (folder / "ca_cert.pem").write_text(self.cert.read_text())
        for prefix in prefixes or ("ctld", "slurmd", "dbd"):
            self.pair(folder, prefix)
