#!/bin/bash
home=~alice
{ echo "== tpro args=$# uid=$(id -u) gid=$(id -g) groups=$(id -G) cwd=$PWD umask=$(umask) stdin=$(readlink /proc/self/fd/0)"; env | grep -E "^(SLURM|CUDA_|GPU_|(HOME|PATH|SHELL|USER|TMPDIR)=)"; } >>"$home/log/tpro"
[ ! -x "$home/hook.tpro" ] || . "$home/hook.tpro"
exit 0
