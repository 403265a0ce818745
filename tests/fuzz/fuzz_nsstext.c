/* fuzz_nsstext.c - what a process of the host tells libnss_slurm, and nss_slurm.conf
 *
 * Whatever is taken has a name and numbers that are nobody else's: never root. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "nss/nssconf.h"
#include "nss/nsstext.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_answer(char *text, size_t len)
{
    struct nss_user u;
    struct nss_group g;
    const char *at;
    size_t n = 0;

    if (!nsstext_parse(text, len, &u))
        return;
    assert(u.uid != 0 && nsstext_name(u.name) && strcmp(u.name, "root") != 0);
    assert(strlen(u.gecos) + strlen(u.home) + strlen(u.shell) < len);
    for (at = u.groups; nsstext_group(&u, &at, &g); n++)
        assert(nsstext_name(g.name) && at <= text + len);
    assert(at == u.end && n <= len / 4);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    struct nss_conf c;

    if (!text)
        return 0;
    memcpy(text, data, size);
    read_answer(text, size);
    memcpy(text, data, size);
    if (nssconf_parse(text, size, "host1", &c))
        assert(c.spool[0] == '/' && c.node[0] && !strchr(c.node, '/'));
    free(text);
    return 0;
}
