/* fuzz_dbd.c - scripts of frames and time against a whole slurmdbd on SQLite
 *
 * Everything of the daemon but its sockets: the door, the store's threads, the thread of accounts
 * and users, the roll-up.  Steps are frames of any operation from connections of every role,
 * records that a controller brings, and time.  Whatever came: every answer can be read, the
 * database is whole, and nothing is left when it ends. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "acct.pb-c.h"
#include "acct/sql/db.h"
#include "base/log.h"
#include "dbd/dbd.h"
#include "event.pb-c.h"

#include "nohttp.h"
#include "play.h"
#include "threads.h"

#define STEPS_MAX 48u
#define INPUT_MAX 8192u
#define RECORDS_MAX 4u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Users that every Debian has: daemon is SlurmUser, sys becomes an operator, sync a coordinator. */
static const struct role roles[] = {
    { 0, "slurmctld" }, { 1, "slurmctld" }, { 0, "sacctmgr" },    { 3, "sacctmgr" },
    { 4, "sacctmgr" },  { 2, "sacct" },     { 65534, "sreport" }, { 54321, "x" },
};

#define ADD "'ops':[{'verb':'ACCT_ADD','entity':'ACCT_"

static struct sample samples[] = {
    { OP_ACCT_ADMIN, "{" ADD "ACCOUNT','where':{'names':['sub']}}]}" },
    { OP_ACCT_ADMIN, "{" ADD "USER','where':{'names':['nobody'],'accounts':['acct']}}]}" },
    { OP_ACCT_ADMIN, "{" ADD "QOS','where':{'names':['low']}}]}" },
    { OP_ACCT_ADMIN,
      "{'ops':[{'verb':'ACCT_MODIFY','entity':'ACCT_USER','where':{'names':['bin']},'set':{}}]}" },
    { OP_ACCT_ADMIN,
      "{'ops':[{'verb':'ACCT_DELETE','entity':'ACCT_ACCOUNT','where':{'names':['acct']}}]}" },
    { OP_ACCT_LIST, "{'entity':'ACCT_ASSOC','where':{}}" },
    { OP_QUERY_ACCT, "{}" },
    { OP_USAGE, "{}" },
    { OP_ACCT_FOLLOW, "{'cluster':{'name':'test'}}" },
    { OP_DBD_REGISTER, "{'cluster':'test','uuid':'u'}" },
    { OP_DBD_REGISTER, "{'cluster':'other','uuid':'v'}" },
    { OP_ARCHIVE, "{'jobs':true,'events':true,'purge_job_h':1,'directory':'/'}" },
    { OP_ARCHIVE, "{'load':true,'file':'/'}" },
};

/* What there is before the script begins. */
static struct sample before[] = {
    { OP_ACCT_ADMIN, "{" ADD "CLUSTER','where':{'names':['test']}}]}" },
    { OP_ACCT_ADMIN, "{" ADD "ACCOUNT','where':{'names':['acct']}}]}" },
    { OP_ACCT_ADMIN,
      "{" ADD "USER','where':{'names':['bin','sys','sync'],'accounts':['acct']}}]}" },
    { OP_ACCT_ADMIN, "{'ops':[{'verb':'ACCT_MODIFY','entity':'ACCT_USER','where':{'names':['sys']},"
                     "'set':{'user':{'admin_level':'ADMIN_OPERATOR'}}}]}" },
    { OP_ACCT_ADMIN,
      "{" ADD "COORD','where':{'users':['sync'],'names':['sync'],'accounts':['acct']}}]}" },
    { OP_DBD_REGISTER, "{'cluster':'test','uuid':'u'}" },
};

static char dir[64], conf_file[96], db_file[96];
static bool asked_to_end;
static uint64_t cursor; /* as the last answer said */

int __wrap_kill(pid_t pid, int sig);

/* A request for the main thread, which waits for signals. */
int __wrap_kill(pid_t pid, int sig)
{
    assert(pid == getpid());
    asked_to_end = asked_to_end || sig == SIGTERM;
    return 0;
}

static void remove_files(void)
{
    static const char *const more[] = { "", "-wal", "-shm", "-journal" };
    char path[128];

    for (size_t i = 0; i < ARRAY_SIZE(more); i++) {
        (void)snprintf(path, sizeof(path), "%s%s", db_file, more[i]);
        (void)unlink(path);
    }
}

static void tidy_up(void)
{
    char *argv[] = { (char *)"rm", (char *)"-rf", dir, NULL }, *none[] = { NULL };
    pid_t pid = fork();

    if (pid == 0) {
        (void)execve("/bin/rm", argv, none);
        _exit(127);
    }
}

static void set_up(void)
{
    int r;
    FILE *f;

    if (dir[0])
        return;
    log_set_level(LOG_QUIET);
    (void)snprintf(dir, sizeof(dir), "%s/penstock-fuzz-XXXXXX",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    r = mkdtemp(dir) ? 0 : -errno;
    assert(r == 0);
    (void)snprintf(conf_file, sizeof(conf_file), "%s/slurmdbd.conf", dir);
    (void)snprintf(db_file, sizeof(db_file), "%s/db", dir);
    (void)atexit(tidy_up);
    f = fopen(conf_file, "we");
    assert(f && fchmod(fileno(f), 0600) == 0);
    fprintf(
        f,
        "DbdHost=localhost\nSlurmUser=root\nStorageType=accounting_storage/"
        "sqlite\nStorageLoc=%s\nArchiveDir=%s\n"
        "PurgeJobAfter=1month\nPurgeEventAfter=1month\nArchiveJobs=yes\nTrackSlurmctldDown=yes\n"
        "PrivateData=jobs,usage,users\n",
        db_file, dir);
    assert(fclose(f) == 0);
    play_encode(samples, ARRAY_SIZE(samples));
    play_encode(before, ARRAY_SIZE(before));
}

/* ---- the daemon ------------------------------------------------------------------------------ */

struct run {
    struct dbd dbd;
    struct play play;
};

static void on_sent(struct conn *c, const struct frame *f)
{
    Pst__DbdCursor *at;

    (void)c;
    if (f->op != OP_DBD_FEED && f->op != OP_DBD_REGISTER)
        return;
    if ((f->flags & FRAME_ERROR) || !(at = pst__dbd_cursor__unpack(NULL, f->len, f->body)))
        return;
    cursor = at->cursor;
    pst__dbd_cursor__free_unpacked(at, NULL);
}

static void turn(void)
{
    for (unsigned i = 0; i < 50 && ((int)threads_run() | (int)fake_turn()); i++)
        ;
}

static void begin(struct run *run)
{
    struct err err = { .text = "" };
    struct dbd *d = &run->dbd;
    int r;

    (void)pthread_mutex_init(&d->conf_lock, NULL);
    d->conf_path = strdup(conf_file);
    r = conf_dbd_load(conf_file, &d->conf, NULL, &err);
    d->slurm_uid = 1;
    if (r == 0)
        r = dbd_location(d->conf, NULL, NULL, &d->location);
    if (r == 0)
        r = dbd_work(d, &err);
    if (r < 0)
        fprintf(stderr, "slurmdbd: %s\n", err.text);
    assert(r == 0);
    play_connect(&run->play);
}

static void end(struct run *run)
{
    play_close(&run->play);
    turn();
    dbd_rest(&run->dbd);
    play_forget(&run->play);
    dbd_stop(&run->dbd);
    (void)pthread_mutex_destroy(&run->dbd.conf_lock);
}

static void check(void)
{
    sqlite3_stmt *st = NULL;
    sqlite3 *db = NULL;
    const char *text;
    int r = sqlite3_open_v2(db_file, &db, SQLITE_OPEN_READONLY, NULL);

    assert(r == SQLITE_OK);
    r = sqlite3_prepare_v2(db, "PRAGMA quick_check", -1, &st, NULL);
    assert(r == SQLITE_OK);
    r = sqlite3_step(st);
    assert(r == SQLITE_ROW);
    text = (const char *)sqlite3_column_text(st, 0);
    assert(text);
    if (strcmp(text, "ok") != 0)
        fprintf(stderr, "the database: %s\n", text);
    assert(strcmp(text, "ok") == 0);
    (void)sqlite3_finalize(st);
    (void)sqlite3_close(db);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static uint64_t live(void *ctx, unsigned choice)
{
    (void)ctx;
    return choice < 16 ? cursor + choice
                       : (uint64_t)(__wrap_now_us() / USEC_PER_SEC - choice % 16 * 3600);
}

/* Files are read and written where requests of administrators say: here, that is our folder. */
static void keep_in_folder(unsigned op, struct strbuf *body)
{
    Pst__ArchiveRequest *req = NULL;
    size_t len;

    if (op == OP_ARCHIVE)
        req = pst__archive_request__unpack(NULL, body->len, (const uint8_t *)strbuf_str(body));
    if (!req)
        return;
    (void)pb_set_str(&req->directory, dir);
    if (req->file)
        (void)pb_set_str(&req->file, conf_file);
    len = pst__archive_request__get_packed_size(req);
    strbuf_reset(body);
    (void)pst__archive_request__pack(req, (uint8_t *)strbuf_room(body, len + 1));
    strbuf_grew(body, len);
    pst__archive_request__free_unpacked(req, NULL);
}

static void any_frame(struct run *run)
{
    play_any(&run->play);
}

static void sample_frame(struct run *run)
{
    play_sample(&run->play, 0);
}

/* Records as a controller's log has them. */
static void feed(struct run *run)
{
    struct script *s = &run->play.script;
    Pst__DbdFeed msg = PST__DBD_FEED__INIT;
    Pst__DbdRecord recs[RECORDS_MAX], *list[RECORDS_MAX];
    struct strbuf data[RECORDS_MAX] = { STRBUF_INIT };
    unsigned how = script_u8(s);

    msg.cluster = (char *)(how & 128 ? "other" : "test");
    msg.has_after = msg.has_upto = true;
    msg.after = cursor;
    msg.n_records = how % RECORDS_MAX + 1;
    msg.upto = cursor + msg.n_records;
    msg.records = list;
    for (size_t i = 0; i < msg.n_records; i++) {
        list[i] = &recs[i];
        pst__dbd_record__init(&recs[i]);
        script_varint(&data[i], 1 << 3); /* Transaction.time_us */
        script_varint(&data[i], (uint64_t)__wrap_now_us());
        script_fields(s, &pst__transaction__descriptor, 0, &data[i]);
        recs[i].has_lsn = recs[i].has_data = true;
        recs[i].lsn = cursor + i + 1;
        recs[i].data.data = (uint8_t *)(uintptr_t)strbuf_str(&data[i]); /* only packed */
        recs[i].data.len = data[i].len;
    }
    play_message(&run->play, run->play.conns[how >> 6 & 1], OP_DBD_FEED, &msg.base);
    for (size_t i = 0; i < msg.n_records; i++)
        strbuf_done(&data[i]);
}

static void conn_goes(struct run *run)
{
    play_reconnect(&run->play);
}

static void time_passes(struct run *run)
{
    play_time(&run->play, &clock_us);
}

static void take_step(struct run *run)
{
    static void (*const kinds[])(struct run * run) = {
        any_frame, any_frame, sample_frame, sample_frame, feed, feed, conn_goes, time_passes,
    };
    unsigned k = script_u8(&run->play.script);

    kinds[(k & 127) % ARRAY_SIZE(kinds)](run);
    if (!(k & 128))
        turn();
}

static void *run_input(void *arg)
{
    struct run *run = arg;

    threads_ours = true;
    begin(run);
    for (size_t i = 0; i < ARRAY_SIZE(before); i++) {
        play_one(&run->play, run->play.conns[0], &before[i]);
        turn();
    }
    for (unsigned i = 0; i < STEPS_MAX && run->play.script.left && !asked_to_end; i++)
        take_step(run);
    turn();
    end(run);
    check();
    threads_ours = false;
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct run run = {
        .play = { .roles = roles,
                  .n_roles = ARRAY_SIZE(roles),
                  .samples = samples,
                  .n_samples = ARRAY_SIZE(samples),
                  .edit = keep_in_folder,
                  .script = { .at = data, .left = size, .now_us = __wrap_now_us, .live = live } },
    };
    pthread_t thread;
    int r;

    if (size > INPUT_MAX)
        return 0;
    set_up();
    remove_files();
    clock_us = 0;
    random_next = 0;
    fake_last_conn = 0;
    cursor = 0;
    asked_to_end = false;
    fake_on_sent = on_sent;
    /* A thread of its own: what code keeps for a thread begins anew. */
    r = __real_pthread_create(&thread, NULL, run_input, &run);
    assert(r == 0);
    (void)__real_pthread_join(thread, NULL);
    return 0;
}
