"""Hosts of their own on this machine: network namespaces, whose links are counted, shaped and cut. Needs root and `ip`."""
import json
import subprocess


def ip(*words):
    subprocess.run(["ip", *map(str, words)], check=True, capture_output=True, text=True)


class Hosts:
    """Namespaces tuff0 ... with a link each to a switch; `rate` as tc has it ("1gbit"), none for as fast as it goes."""

    def __init__(self, count, rate=None):
        self.count = count
        self.remove()
        ip("netns", "add", "tuff_switch")
        ip("-n", "tuff_switch", "link", "add", "bridge", "type", "bridge")
        ip("-n", "tuff_switch", "link", "set", "bridge", "up")
        for i in range(count):
            ip("netns", "add", f"tuff{i}")
            ip("-n", f"tuff{i}", "link", "add", "eth", "type", "veth", "peer", "name", f"port{i}", "netns", "tuff_switch")
            ip("-n", "tuff_switch", "link", "set", f"port{i}", "master", "bridge", "up")
            ip("-n", f"tuff{i}", "address", "add", f"{self.address(i)}/24", "dev", "eth")
            for link in "lo", "eth":
                ip("-n", f"tuff{i}", "link", "set", link, "up")
            if rate:
                subprocess.run([*self.command(i), "tc", "qdisc", "add", "dev", "eth", "root", "tbf", "rate", rate, "burst",
                                "256kb", "latency", "50ms"], check=True, capture_output=True)

    def remove(self):
        for name in "tuff_switch", *(f"tuff{i}" for i in range(self.count)):
            subprocess.run(["ip", "netns", "delete", name], capture_output=True)

    @staticmethod
    def command(host):
        """The words that run a command there."""
        return ["ip", "netns", "exec", f"tuff{host}"]

    @staticmethod
    def address(host):
        return f"10.77.0.{host + 1}"

    @staticmethod
    def plug(host, state):
        """A link is cut ("down") and mended ("up")."""
        ip("-n", "tuff_switch", "link", "set", f"port{host}", state)

    @staticmethod
    def sent_bytes(host):
        done = subprocess.run(["ip", "-n", f"tuff{host}", "-s", "-j", "link", "show", "eth"], check=True, capture_output=True)
        return json.loads(done.stdout)[0]["stats64"]["tx"]["bytes"]
