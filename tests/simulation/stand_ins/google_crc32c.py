"""CRC-32C in Python alone, for interpreters that have no packages: a replay needs the same numbers, not the same speed."""


def _table() -> list[int]:
    found: list[int] = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        found.append(value)
    return found


TABLE = _table()


def value(data: bytes) -> int:
    return extend(0, data)


def extend(crc: int, data: bytes) -> int:
    crc ^= 0xFFFFFFFF
    for byte in bytes(data):
        crc = TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF
