/* test_sharedlibs.c - which loader a program names, and what loaders print */
#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/job/sharedlibs.h"

/* A program of 64 bits with one segment, whose loader is `name` of `size` bytes at `at`. */
static void make_elf(uint8_t *buf, uint64_t at, uint64_t size, const char *name, size_t name_len)
{
    Elf64_Ehdr *h = (Elf64_Ehdr *)buf;
    Elf64_Phdr *p = (Elf64_Phdr *)(buf + sizeof(*h));

    memset(buf, 0, 512);
    memcpy(h->e_ident, ELFMAG, SELFMAG);
    h->e_ident[EI_CLASS] = ELFCLASS64;
    h->e_ident[EI_DATA] = __BYTE_ORDER == __LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB;
    h->e_phoff = sizeof(*h);
    h->e_phnum = 1;
    h->e_phentsize = sizeof(*p);
    p->p_type = PT_INTERP;
    p->p_offset = at;
    p->p_filesz = size;
    if (name)
        memcpy(buf + 256, name, name_len);
}

static void test_loader(void **state)
{
    _Alignas(8) uint8_t buf[512];
    const char *loader = NULL;

    (void)state;
    make_elf(buf, 256, 12, "/lib/ld.so.2", 13);
    /* its end is not in the segment */
    assert_int_equal(sharedlibs_loader(buf, sizeof(buf), &loader), -ENOENT);
    make_elf(buf, 256, 13, "/lib/ld.so.2", 13);
    assert_int_equal(sharedlibs_loader(buf, sizeof(buf), &loader), 0);
    assert_string_equal(loader, "/lib/ld.so.2");
    assert_int_equal(sharedlibs_loader(buf, 268, &loader), -ENOENT);
    assert_int_equal(sharedlibs_loader(buf, 100, &loader), -ENOENT);
    make_elf(buf, UINT64_MAX - 4, 13, NULL, 0);
    assert_int_equal(sharedlibs_loader(buf, sizeof(buf), &loader), -ENOENT);
    make_elf(buf, 256, 8, "ld.so.2", 8); /* from anywhere: no */
    assert_int_equal(sharedlibs_loader(buf, sizeof(buf), &loader), -ENOENT);
    make_elf(buf, 256, 13, "/lib/ld.so.2", 13);
    ((Elf64_Phdr *)(buf + sizeof(Elf64_Ehdr)))->p_type = PT_LOAD; /* linked statically */
    assert_int_equal(sharedlibs_loader(buf, sizeof(buf), &loader), -ENOENT);
    assert_int_equal(sharedlibs_loader((const uint8_t *)"#!/bin/sh\n", 10, &loader), -ENOENT);
}

static const char printed[] = "\tlinux-vdso.so.1 (0x00007ffd)\n"
                              "\tlibmine.so.1 => /home/a/my libs/libmine.so.1 (0x00007f01)\n"
                              "\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f02)\n"
                              "\tliblibs.so => /libs/liblibs.so (0x00007f03)\n"
                              "\t/opt/x/libp.so => /opt/x/libp.so (0x00007f04)\n"
                              "\t/lib64/ld-linux-x86-64.so.2 (0x00007f05)\n";

static void test_parse(void **state)
{
    struct sharedlibs l;
    struct err err = { .text = "" };

    (void)state;
    assert_int_equal(sharedlibs_parse(printed, "/usr/lib,/lib/", &l, &err), 0);
    assert_int_equal(l.n, 2);
    assert_string_equal(l.items[0].name, "libmine.so.1");
    assert_string_equal(l.items[0].path, "/home/a/my libs/libmine.so.1");
    assert_string_equal(l.items[1].path, "/libs/liblibs.so"); /* /lib is not its folder */
    sharedlibs_done(&l);
    assert_int_equal(sharedlibs_parse(printed, "NONE", &l, &err), 0);
    assert_int_equal(l.n, 3);
    assert_string_equal(l.items[1].name, "libc.so.6");
    sharedlibs_done(&l);
    assert_int_equal(sharedlibs_parse("\tlibz.so.9 => not found\n", NULL, &l, &err), -ENOENT);
    assert_string_equal(err.text, "libz.so.9 => not found");
    assert_int_equal(sharedlibs_parse("\tstatically linked\n", NULL, &l, &err), 0);
    assert_int_equal(l.n, 0);
    sharedlibs_done(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_loader),
                                        cmocka_unit_test(test_parse) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
