/* cgdev.c - keeping a cgroup from devices; see cgroup.h
 *
 * Version 2 asks a program at each use of a device.  Ours is a list: for each device that is
 * denied, compare the kind, the major and the minor number, and answer no; else yes.  It is
 * loaded by the system call alone. Programs of a cgroup and of all above it must agree, so a
 * job's program holds for its steps. */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "stepd/cgroup/cgroup_int.h"

#define INSNS_PER_DEVICE 5
#define INSNS_REST 6
/* keeps the program within the 4,096 instructions that are always allowed */
#define DEVICES_MAX 512

enum { R0 = BPF_REG_0, R1 = BPF_REG_1, R2 = BPF_REG_2, R3 = BPF_REG_3, R4 = BPF_REG_4 };

/* Registers are four bits of the instruction. */
#pragma GCC diagnostic ignored "-Wconversion"
static struct bpf_insn make_insn(uint8_t code, uint8_t dst, int16_t off, int32_t imm)
{
    struct bpf_insn i = { .code = code, .off = off, .imm = imm };

    i.dst_reg = (uint8_t)(dst & 15u);
    return i;
}

static struct bpf_insn load_word(uint8_t dst, size_t off)
{
    struct bpf_insn i = make_insn(BPF_LDX | BPF_MEM | BPF_W, dst, (int16_t)off, 0);

    i.src_reg = R1;
    return i;
}

/* r2 kind, r3 major, r4 minor.  A mismatch jumps to the next device. */
static size_t write_program(const struct cgroup_device *deny, size_t n, struct bpf_insn *p)
{
    const uint8_t differs = BPF_JMP | BPF_JNE | BPF_K, set = BPF_ALU64 | BPF_MOV | BPF_K,
                  out = BPF_JMP | BPF_EXIT;
    size_t at = 0;

    p[at++] = load_word(R2, offsetof(struct bpf_cgroup_dev_ctx, access_type));
    p[at++] = make_insn(BPF_ALU | BPF_AND | BPF_K, R2, 0, 0xffff); /* without the kind of access */
    p[at++] = load_word(R3, offsetof(struct bpf_cgroup_dev_ctx, major));
    p[at++] = load_word(R4, offsetof(struct bpf_cgroup_dev_ctx, minor));
    for (size_t i = 0; i < n; i++) {
        p[at++] =
            make_insn(differs, R2, 4, deny[i].block ? BPF_DEVCG_DEV_BLOCK : BPF_DEVCG_DEV_CHAR);
        p[at++] = make_insn(differs, R3, 3, (int32_t)deny[i].major);
        p[at++] = make_insn(differs, R4, 2, (int32_t)deny[i].minor);
        p[at++] = make_insn(set, R0, 0, 0);
        p[at++] = make_insn(out, 0, 0, 0);
    }
    p[at++] = make_insn(set, R0, 0, 1);
    p[at++] = make_insn(out, 0, 0, 0);
    return at;
}

static int sys_bpf(int cmd, union bpf_attr *attr)
{
    long r = syscall(SYS_bpf, cmd, attr, sizeof(*attr));

    return r < 0 ? -errno : (int)r;
}

static int deny_v2(const char *dir, const struct cgroup_device *deny, size_t n)
{
    _cleanup_free_ struct bpf_insn *insns =
        calloc(INSNS_PER_DEVICE * n + INSNS_REST, sizeof(*insns));
    _cleanup_close_ int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), prog_fd = -1;
    union bpf_attr attr;

    if (!insns)
        return -ENOMEM;
    if (dir_fd < 0)
        return -errno;
    memset(&attr, 0, sizeof(attr)); /* the kernel looks at the padding too */
    attr.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
    attr.insns = (uint64_t)(uintptr_t)insns;
    attr.insn_cnt = (uint32_t)write_program(deny, n, insns);
    attr.license = (uint64_t)(uintptr_t) ""; /* nothing is called that asks for one */
    prog_fd = sys_bpf(BPF_PROG_LOAD, &attr);
    if (prog_fd < 0)
        return prog_fd;
    memset(&attr, 0, sizeof(attr));
    attr.target_fd = (uint32_t)dir_fd;
    attr.attach_bpf_fd = (uint32_t)prog_fd;
    attr.attach_type = BPF_CGROUP_DEVICE;
    attr.attach_flags = BPF_F_ALLOW_MULTI;
    return sys_bpf(BPF_PROG_ATTACH, &attr);
}

static int deny_v1(const struct cgroup_tree *tree, const char *rel,
                   const struct cgroup_device *deny, size_t n)
{
    char text[64];
    int r = tree->use & CGROUP_DEVICES ? 0 : -ENOTSUP;

    for (size_t i = 0; r == 0 && i < n; i++) {
        (void)snprintf(text, sizeof(text), "%c %u:%u rwm", deny[i].block ? 'b' : 'c', deny[i].major,
                       deny[i].minor);
        r = cgi_put(tree, CGROUP_DEVICES, rel, "devices.deny", text);
    }
    return r;
}

int cgi_deny(const struct cgroup_tree *tree, const char *rel, const struct cgroup_device *deny,
             size_t n)
{
    char path[CGI_PATH];
    int r;

    if (n > DEVICES_MAX)
        return -E2BIG;
    if (tree->kind == CGROUP_V1)
        return deny_v1(tree, rel, deny, n);
    r = cgi_path(tree, 0, rel, NULL, path);
    return r < 0 ? r : deny_v2(path, deny, n);
}
