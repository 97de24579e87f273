"""What `nmt info` shows. Nothing here imports torch, except to look for GPUs.

machine   versions, processor, GPUs, threads and caches
runs      a run directory at a glance
"""
