/* fuzz_archive.c - arbitrary bytes as an archive file of the accounting store, and as TRES texts
 *
 * A file is refused, or its rows are in the table; a refused one leaves no row. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "acct/archive.h"
#include "acct/sql/db.h"
#include "acct/accttres.h"

enum { INPUT_MAX = 8192 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One database for the whole run, without a name in the file system. */
static struct sql *store(void)
{
    static struct sql *db;
    char path[] = "/tmp/fuzz-archive-XXXXXX";
    struct err err = { .text = "" };
    int fd;

    if (db)
        return db;
    fd = mkstemp(path);
    assert(fd >= 0);
    (void)close(fd); /* empty */
    assert(acct_db_open(path, &db, &err) == 0);
    assert(
        sql_exec(db, "PRAGMA journal_mode=MEMORY; INSERT INTO sources VALUES(0,'c','u',0,0,0,0)") ==
        0);
    (void)unlink(path);
    return db;
}

static void texts(const uint8_t *data, size_t size)
{
    char *text = strndup((const char *)data, size);
    struct tres_item item, items[8];
    const char *p = text;
    unsigned n = 0;

    assert(text);
    while (tres_next(&p, &item))
        n += item.name[0] != '\0';
    assert(n <= size);
    assert(tres_of_gres(text, items, 8) <= 8);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = { .text = "" };
    struct sql *db = store();
    int fd = memfd_create("archive", MFD_CLOEXEC);
    uint64_t rows = 0;
    int64_t events = 0;
    char path[32];
    int r;

    if (size > INPUT_MAX || fd < 0)
        return 0;
    texts(data, size);
    assert(write(fd, data, size) == (ssize_t)size);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    r = acct_archive_load(db, path, &rows, &err);
    assert((r < 0) == (err.text[0] != '\0'));
    assert(sql_get(db, "SELECT count(*) FROM events", 0, &events) == 0);
    assert(r == 0 || events == 0);
    assert(
        sql_exec(db,
                 "DELETE FROM events; DELETE FROM jobs; DELETE FROM steps; DELETE FROM usage_sums;"
                 "DELETE FROM usage_cluster") == 0);
    (void)close(fd); /* memory */
    return 0;
}
