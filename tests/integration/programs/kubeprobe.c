/* kubeprobe.c - uses the client of an API server as tests want, and tells what happens in lines
 *
 * usage: kubeprobe KUBECONFIG watch [PAGE]           every change of pods, and "synced"
 *        kubeprobe KUBECONFIG lease NAME IDENTITY    "held" and "lost", 1 second
 *        kubeprobe KUBECONFIG count POD TIMES        adds 1 to annotation x/n, TIMES times at
 *                                             once */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kube/api/kubeinformer.h"
#include "kube/api/kubejson.h"
#include "kube/api/kubelease.h"

struct probe {
    struct kubeloop *loop;
    struct kubeserver *s;
    struct kubeinformer *pods;
    unsigned left;
};

static void tell_change(void *ctx, const json_t *before, const json_t *now)
{
    const json_t *one = now ? now : before;

    (void)ctx;
    (void)printf("%s %s %s\n",
                 !before ? "added"
                 : now   ? "changed"
                         : "deleted",
                 kubejson_name(one), kubejson_uid(one));
}

static void tell_synced(void *ctx)
{
    struct probe *p = ctx;

    (void)printf("synced %zu\n", kubeinformer_count(p->pods));
}

static void tell_role(void *ctx, bool held)
{
    (void)ctx;
    (void)printf("%s\n", held ? "held" : "lost");
}

static int add_one(void *ctx, json_t *pod)
{
    const char *text = kubejson_annotation(pod, "x/n");
    json_t *all = json_object_get(json_object_get(pod, "metadata"), "annotations");
    char number[16];

    (void)ctx;
    (void)snprintf(number, sizeof(number), "%ld", text ? strtol(text, NULL, 10) + 1 : 1);
    return json_object_set_new(all, "x/n", json_string(number));
}

static void tell_reply(void *ctx, const struct kubereply *reply)
{
    struct probe *p = ctx;

    (void)printf("%d %s\n", reply->status, reply->reason);
    p->left--;
}

static int count_up(struct probe *p, const char *pod, const char *times)
{
    const struct kubeapi_target t = { &kubekind_pods, "default", pod, NULL };

    p->left = (unsigned)strtoul(times, NULL, 10);
    for (unsigned i = p->left; i > 0; i--)
        if (kubeapi_change(p->s, &t, add_one, tell_reply, p) < 0)
            return 1;
    while (p->left)
        if (kubeloop_turn(p->loop, 1000) < 0)
            return 1;
    return 0;
}

int main(int argc, char **argv)
{
    struct kubeconfig config = { 0 };
    struct probe p = { 0 };
    struct kubelease *lease = NULL;
    struct err err = { .text = "" };
    int r = 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc < 3 || kubeconfig_load(argv[1], NULL, &config, &err) < 0) {
        (void)fprintf(stderr, "%s\n", err.text);
        return 2;
    }
    if (kubeloop_new(&p.loop) < 0 ||
        kubeserver_new(p.loop, &config, &(struct kubeserver_options){ .program = "kubeprobe" },
                       &p.s) < 0)
        return 1;
    if (strcmp(argv[2], "watch") == 0)
        r = kubeinformer_new(p.s,
                             &(struct kubeinformer_options){
                                 .kind = &kubekind_pods,
                                 .page = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 0,
                                 .watch_s = 5,
                                 .fn = tell_change,
                                 .synced = tell_synced,
                                 .ctx = &p },
                             &p.pods);
    else if (strcmp(argv[2], "lease") == 0 && argc == 5)
        r = kubelease_new(p.s,
                          &(struct kubelease_options){ .namespace_ = "default",
                                                       .name = argv[3],
                                                       .identity = argv[4],
                                                       .duration_s = 1,
                                                       .changed = tell_role,
                                                       .ctx = &p },
                          &lease);
    else if (strcmp(argv[2], "count") == 0 && argc == 5)
        return count_up(&p, argv[3], argv[4]);
    else
        return 2;
    while (r == 0 && getppid() != 1)
        r = kubeloop_turn(p.loop, 1000);
    return 1;
}
