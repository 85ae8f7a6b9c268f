# SPDX-License-Identifier: BSD-3-Clause
"""Ports of UDP that no other test has, and that the kernel gives to no socket by itself."""
import errno
import pathlib
import random
import socket

CLAIMS = []  # sockets whose names say which ports this program has, until it ends


def claim(port):
    """Takes the port for this program. Returns whether no other one has it."""
    name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        name.bind(f"\0cornerturn-test-port-{port}")
    except OSError:
        name.close()
        return False
    CLAIMS.append(name)
    return True


def is_free(port, family, host):
    with socket.socket(family, socket.SOCK_DGRAM) as one:
        try:
            one.bind((host, port))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            return False
    return True


def free_port(family=socket.AF_INET, host="127.0.0.1"):
    least = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = random.randrange(least // 2, least)
        if claim(port) and is_free(port, family, host):
            return port
