/* plugscript.c - plugins beside Prolog and Epilog: a process of slurmd's with their environment;
 * see plug.h */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "stepd/plug/plug.h"

static void say_line(void *ctx, enum log_level level, const char *text)
{
    (void)ctx;
    log_write(level == LOG_QUIET ? LOG_INFO : level, "%s", text);
}

static const char *option_text(void *ctx, const char *name)
{
    char full[256];

    (void)ctx;
    (void)snprintf(full, sizeof(full), "SPANK_%s", name);
    return getenv(full);
}

static uint32_t read_number(const char *name)
{
    const char *text = getenv(name);
    uint64_t n;

    return text && parse_u64(text, 0, UINT32_MAX, &n) == 0 ? (uint32_t)n : 0;
}

static void fill_facts(struct spank_facts *f)
{
    f->job_id = read_number("SLURM_JOB_ID");
    f->uid = read_number("SLURM_JOB_UID");
    f->gid = read_number("SLURM_JOB_GID");
    f->known = (1ull << S_JOB_ID) | (1ull << S_JOB_UID) | (1ull << S_JOB_GID);
}

int plug_script(int argc, char **argv)
{
    struct spank_host host = { .context = S_CTX_JOB_SCRIPT,
                               .env_get = option_text,
                               .log = say_line };
    enum spank_call what =
        argc > 0 && strcmp(argv[0], "epilog") == 0 ? SPANK_JOB_EPILOG : SPANK_JOB_PROLOG;
    struct spank_stack *st = NULL;
    struct err err = { .text = "" };
    int r;

    if (argc < 3) {
        (void)fprintf(stderr, "slurmstepd: error: this program is started by slurmd only\n");
        return 1;
    }
    (void)log_open("slurmd", argc > 3 ? argv[3] : NULL, LOG_INFO,
                   false); /* without a log there is no place for an error message */
    fill_facts(&host.facts);
    r = spank_stack_load(argv[1], argv[2], &host, &st, &err);
    if (r == 0 && st)
        r = spank_stack_call(st, what, &err);
    if (r != 0)
        log_error("%s", err.text);
    (void)spank_stack_free(st);
    return r == 0 ? 0 : 1;
}
