"""What `nmt info` shows, and what is known of other hardware. Nothing here imports torch, except to look for GPUs.

hardware  what a run would take on other hardware: `nmt train --dry-run --on`
machine   versions, processor, GPUs, threads and caches
runs      a run directory at a glance
"""
