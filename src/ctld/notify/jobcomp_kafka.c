/* jobcomp_kafka.c - runs that began or ended as messages to Kafka
 *
 * librdkafka delivers on threads of its own; its reports come through rd_kafka_poll() on the
 * follower's thread.  A batch is over when every message of it was delivered, so the place in the
 * log never passes one that was not. What could not be delivered in time is handed in again for as
 * long as it takes; only what Kafka will never take (too large, malformed) is dropped, with a line
 * in the log.  The library is loaded when this type is configured. */
#include <dlfcn.h>
#include <errno.h>
#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/process/loadlib.h"
#include "base/timefmt.h"
#include "ctld/notify/jobcomp.h"
#include "ctld/notify/kafkaconf.h"

#define BATCH 1000u
#define POLL_MS 100
#define AGAIN_US USEC_PER_SEC /* before what failed is handed in again */

enum fate { WAITS, FAILED, OVER };

struct message {
    uint64_t lsn;
    uint32_t job_id;
    bool began;
    enum fate fate;
    char *text;
    size_t len;
};

struct kafka {
    rd_kafka_t *rk;
    rd_kafka_topic_t *ended, *began;
    char *cluster;
    bool starts;
    int64_t flush_ms;      /* at the end; -1 = for ever */
    struct message **msgs; /* of the batch */
    size_t n, cap;
    bool failing; /* and said so */
    struct {
        __typeof__(&rd_kafka_conf_new) conf_new;
        __typeof__(&rd_kafka_conf_set) conf_set;
        __typeof__(&rd_kafka_conf_destroy) conf_destroy;
        __typeof__(&rd_kafka_conf_set_dr_msg_cb) set_report;
        __typeof__(&rd_kafka_conf_set_log_cb) set_log;
        __typeof__(&rd_kafka_conf_set_opaque) set_opaque;
        __typeof__(&rd_kafka_new) new;
        __typeof__(&rd_kafka_destroy_flags) destroy;
        __typeof__(&rd_kafka_topic_new) topic_new;
        __typeof__(&rd_kafka_topic_destroy) topic_destroy;
        __typeof__(&rd_kafka_produce) produce;
        __typeof__(&rd_kafka_poll) poll;
        __typeof__(&rd_kafka_purge) purge;
        __typeof__(&rd_kafka_flush) flush;
        __typeof__(&rd_kafka_last_error) last_error;
        __typeof__(&rd_kafka_err2str) text;
    } api;
};

/* ---- the library ----------------------------------------------------------------------------- */

static int load_library(struct kafka *k, struct err *err)
{
    const struct loadlib_symbol symbols[] = { { "rd_kafka_conf_new", &k->api.conf_new },
                                              { "rd_kafka_conf_set", &k->api.conf_set },
                                              { "rd_kafka_conf_destroy", &k->api.conf_destroy },
                                              { "rd_kafka_conf_set_dr_msg_cb", &k->api.set_report },
                                              { "rd_kafka_conf_set_log_cb", &k->api.set_log },
                                              { "rd_kafka_conf_set_opaque", &k->api.set_opaque },
                                              { "rd_kafka_new", &k->api.new },
                                              { "rd_kafka_destroy_flags", &k->api.destroy },
                                              { "rd_kafka_topic_new", &k->api.topic_new },
                                              { "rd_kafka_topic_destroy", &k->api.topic_destroy },
                                              { "rd_kafka_produce", &k->api.produce },
                                              { "rd_kafka_poll", &k->api.poll },
                                              { "rd_kafka_purge", &k->api.purge },
                                              { "rd_kafka_flush", &k->api.flush },
                                              { "rd_kafka_last_error", &k->api.last_error },
                                              { "rd_kafka_err2str", &k->api.text } };

    return loadlib("jobcomp/kafka", "librdkafka.so.1", "librdkafka1", RTLD_LOCAL, symbols,
                   ARRAY_SIZE(symbols), err);
}

static void on_log(const rd_kafka_t *rk, int level, const char *facility, const char *text)
{
    (void)rk;
    if (level <= 3)
        log_verbose("jobcomp: kafka: %s: %.400s", facility, text);
    else
        log_debug("jobcomp: kafka: %s: %.400s", facility, text);
}

/* Kafka will not take it at any later time either. */
static bool is_final(rd_kafka_resp_err_t e)
{
    return e == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE || e == RD_KAFKA_RESP_ERR_INVALID_MSG ||
           e == RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE || e == RD_KAFKA_RESP_ERR_INVALID_RECORD ||
           e == RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE;
}

static void settle_message(struct kafka *k, struct message *m, rd_kafka_resp_err_t e)
{
    if (e && is_final(e))
        log_error("jobcomp: Kafka refuses the record: %s job=%u", k->api.text(e), m->job_id);
    else if (e && !k->failing && e != RD_KAFKA_RESP_ERR__PURGE_QUEUE &&
             e != RD_KAFKA_RESP_ERR__PURGE_INFLIGHT) {
        log_error("jobcomp: a record did not reach Kafka: %s: trying again, nothing is lost "
                  "meanwhile job=%u",
                  k->api.text(e), m->job_id);
        k->failing = true;
    } else if (!e && k->failing) {
        log_info("jobcomp: Kafka takes records again");
        k->failing = false;
    }
    m->fate = e && !is_final(e) ? FAILED : OVER;
}

static void on_report(rd_kafka_t *rk, const rd_kafka_message_t *msg, void *opaque)
{
    (void)rk;
    settle_message(opaque, msg->_private, msg->err);
}

/* ---- configuration --------------------------------------------------------------------------- */

struct setting {
    struct kafka *kafka;
    rd_kafka_conf_t *conf;
};

static int conf_pair(void *ctx, const char *key, const char *value, struct err *err)
{
    struct setting *s = ctx;
    char why[256];

    if (s->kafka->api.conf_set(s->conf, key, value, why, sizeof(why)) != RD_KAFKA_CONF_OK)
        return err_set(err, -EINVAL, "%s", why);
    return 0;
}

static int conf_file(struct kafka *k, const char *path, rd_kafka_conf_t *conf, struct err *err)
{
    _cleanup_fclose_ FILE *f = fopen(path, "re");
    struct setting s = { .kafka = k, .conf = conf };

    if (!f)
        return err_set(err, -errno, "JobCompLoc=%.200s: %s", path, strerror(errno));
    return kafkaconf_read(f, path, conf_pair, &s, err);
}

static int copy_param(const struct conf *conf, const char *name, const char *standard, char **ret)
{
    const char *value;
    size_t len;

    if (conf_option(conf, CONF_JOB_COMP_PARAMS, name, &value, &len) && len)
        *ret = strndup(value, len);
    else
        *ret = strdup(standard);
    return *ret ? 0 : -ENOMEM;
}

static int open_topics(struct kafka *k, const struct conf *conf)
{
    _cleanup_free_ char *ended = NULL, *began = NULL, *usual = NULL;

    if (asprintf(&usual, "%s-job-start", k->cluster) < 0) {
        usual = NULL;
        return -ENOMEM;
    }
    if (copy_param(conf, "topic", k->cluster, &ended) < 0 ||
        copy_param(conf, "topic_job_start", usual, &began) < 0)
        return -ENOMEM;
    k->ended = k->api.topic_new(k->rk, ended, NULL);
    k->began = k->starts ? k->api.topic_new(k->rk, began, NULL) : NULL;
    return k->ended && (k->began || !k->starts) ? 0 : -EINVAL;
}

static void clear_messages(struct kafka *k)
{
    for (size_t i = 0; i < k->n; i++) {
        free(k->msgs[i]->text);
        free(k->msgs[i]);
    }
    k->n = 0;
}

static void kafka_close(void *sink)
{
    struct kafka *k = sink;

    if (k->ended)
        k->api.topic_destroy(k->ended);
    if (k->began)
        k->api.topic_destroy(k->began);
    if (k->rk)
        k->api.destroy(k->rk, 0);
    /* The library stays loaded: its threads may still be on their way out. */
    clear_messages(k);
    free(k->msgs);
    free(k->cluster);
    free(k);
}

static int connect_to(struct kafka *k, const struct conf *conf, struct err *err)
{
    const char *path = conf_str(conf, CONF_JOB_COMP_LOC);
    rd_kafka_conf_t *rc;
    char why[256];
    int r = load_library(k, err);

    if (r < 0)
        return r;
    rc = k->api.conf_new();
    r = conf_file(k, path, rc, err);
    if (r < 0) {
        k->api.conf_destroy(rc);
        return r;
    }
    k->api.set_opaque(rc, k);
    k->api.set_report(rc, on_report);
    k->api.set_log(rc, on_log);
    k->rk = k->api.new(RD_KAFKA_PRODUCER, rc, why, sizeof(why)); /* takes rc on success */
    if (!k->rk) {
        k->api.conf_destroy(rc);
        return err_set(err, -EINVAL, "%.200s: %s", path, why);
    }
    r = open_topics(k, conf);
    return r == -EINVAL ? err_set(err, r, "JobCompParams: a topic's name is not valid") : r;
}

static int kafka_open(const struct conf *conf, void **ret, struct err *err)
{
    const char *path = conf_str(conf, CONF_JOB_COMP_LOC);
    struct kafka *k;
    int r;

    if (!path || *path != '/')
        return err_set(
            err, -EINVAL,
            "JobCompLoc=%.128s: jobcomp/kafka wants the absolute path of a file of librdkafka",
            path ? path : "");
    k = calloc(1, sizeof(*k));
    if (!k)
        return -ENOMEM;
    k->starts = conf_option(conf, CONF_JOB_COMP_PARAMS, "enable_job_start", NULL, NULL);
    k->flush_ms = 500;
    (void)conf_option_i64(conf, CONF_JOB_COMP_PARAMS, "flush_timeout",
                          &k->flush_ms); /* else as it is */
    k->cluster = strdup(conf_str(conf, CONF_CLUSTER_NAME));
    r = k->cluster ? connect_to(k, conf, err) : -ENOMEM;
    if (r < 0) {
        kafka_close(k);
        return r;
    }
    *ret = k;
    return 0;
}

/* ---- messages -------------------------------------------------------------------------------- */

static void hand_in(struct kafka *k, struct message *m)
{
    m->fate = WAITS;
    if (k->api.produce(m->began ? k->began : k->ended, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY,
                       m->text, m->len, NULL, 0, m) < 0) {
        rd_kafka_resp_err_t e = k->api.last_error();

        if (e == RD_KAFKA_RESP_ERR__QUEUE_FULL)
            m->fate = FAILED; /* the library's own queue: in a moment */
        else
            settle_message(k, m, e);
    }
}

static int kafka_put(void *sink, uint64_t lsn, const Pst__JobNote *note, struct err *err)
{
    struct kafka *k = sink;
    bool began = note->has_began && note->began;
    struct message *m;
    int r;

    (void)err;
    if (began && !k->starts)
        return 0;
    if (k->n == k->cap) {
        size_t cap = k->cap ? k->cap * 2 : BATCH;
        struct message **bigger = realloc(k->msgs, cap * sizeof(struct message *));

        if (!bigger)
            return -ENOMEM;
        k->msgs = bigger;
        k->cap = cap;
    }
    m = calloc(1, sizeof(*m));
    if (!m)
        return -ENOMEM;
    *m = (struct message){ .lsn = lsn, .job_id = note->job->job_id, .began = began };
    r = jobcomp_json(note, k->cluster, &m->text, &m->len);
    if (r < 0) {
        free(m);
        return r;
    }
    k->msgs[k->n++] = m;
    hand_in(k, m);
    return 0;
}

static size_t count_messages(const struct kafka *k, enum fate fate)
{
    size_t n = 0;

    for (size_t i = 0; i < k->n; i++)
        n += k->msgs[i]->fate == fate;
    return n;
}

/* Until all of the batch are delivered; when the controller ends, for flush_timeout more. */
static void deliver_messages(struct kafka *k, const atomic_bool *stop)
{
    int64_t again = 0, until = 0;

    while (count_messages(k, OVER) < k->n) {
        int64_t now = now_mono_us();

        if (count_messages(k, FAILED) && !again)
            again = now + AGAIN_US;
        if (again && now >= again) {
            again = 0;
            for (size_t i = 0; i < k->n; i++)
                if (k->msgs[i]->fate == FAILED)
                    hand_in(k, k->msgs[i]);
        }
        if (atomic_load(stop) && k->flush_ms >= 0) {
            until = until ? until : now + k->flush_ms * 1000;
            if (now >= until)
                return;
        }
        (void)k->api.poll(k->rk, POLL_MS);
    }
}

/* What is still under way when the controller ends is taken back, so that no report comes for freed
 * memory. */
static void take_back(struct kafka *k)
{
    int64_t until = now_mono_us() + USEC_PER_SEC;

    (void)k->api.purge(k->rk, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    while (count_messages(k, WAITS) && now_mono_us() < until)
        (void)k->api.poll(k->rk, POLL_MS);
}

static int kafka_flush(void *sink, const atomic_bool *stop, uint64_t *ret_done, struct err *err)
{
    struct kafka *k = sink;
    size_t over;

    deliver_messages(k, stop);
    if (count_messages(k, WAITS))
        take_back(k);
    for (over = 0; over < k->n && k->msgs[over]->fate == OVER; over++)
        *ret_done = k->msgs[over]->lsn;
    if (over < k->n) {
        if (*ret_done == k->msgs[over]->lsn)
            *ret_done -= 1; /* of the same transaction */
        return err_set(err, -ECANCELED, "%zu records have not reached Kafka", k->n - over);
    }
    clear_messages(k);
    return 0;
}

static void kafka_idle(void *sink)
{
    struct kafka *k = sink;

    (void)k->api.poll(k->rk, 0);
}

const struct jobcomp_sink jobcomp_kafka = { .type = "jobcomp/kafka",
                                            .batch = BATCH,
                                            .retry_ms = 5000,
                                            .idle_ms = 2000,
                                            .json = true,
                                            .open = kafka_open,
                                            .put = kafka_put,
                                            .flush = kafka_flush,
                                            .idle = kafka_idle,
                                            .close = kafka_close };
