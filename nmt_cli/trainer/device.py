"""Which device to use: see `nmt_cli.device`, which translation uses as well."""

from nmt_cli.device import choose_device

__all__ = ["choose_device"]
