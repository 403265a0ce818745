/* scontrol_reboot.c - scontrol reboot and cancel_reboot; see scontrol.h */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api.pb-c.h"
#include "base/cleanup.h"
#include "cli/scontrol/scontrol.h"
#include "cli/scontrol/scontrol_reboot.h"
#include "wire/client.h"
#include "wire/errors.h"

static void send_request(struct scontrol *s, const Pst__NodeRebootRequest *req, const char *what)
{
    const char *text = NULL;
    int r = client_call(scontrol_client(s, what), OP_NODE_REBOOT, &req->base, NULL);

    if (r >= 0)
        return;
    if (r == -EREMOTEIO && client_error(s->client, &text) == ESLURM_DISABLED && text)
        scontrol_fail(s, "%s error: %s", what, text);
    else
        scontrol_fail(s, "%s error: %s", what, client_strerror(s->client, r));
}

/* next_state=RESUME|DOWN in upper case, or NULL. */
static const char *next_state(const char *word)
{
    return strcasecmp(word, "resume") == 0 ? "RESUME"
           : strcasecmp(word, "down") == 0 ? "DOWN"
                                           : NULL;
}

void scontrol_reboot(struct scontrol *s, int argc, char **argv)
{
    Pst__NodeRebootRequest req = PST__NODE_REBOOT_REQUEST__INIT;
    int i = 0;

    for (; i < argc; i++) {
        if (strcasecmp(argv[i], "asap") == 0) {
            req.has_asap = req.asap = true;
        } else if (strcasecmp(argv[i], "force") == 0) {
            scontrol_fail(
                s,
                "scontrol: error: reboot FORCE is not available: a node reboots when its jobs have ended; "
                "cancel them and use ASAP");
            return;
        } else if (strncasecmp(argv[i], "action=", 7) == 0) {
            scontrol_fail(
                s,
                "scontrol: error: reboot action= is not available: the nodes run RebootProgram of "
                "slurm.conf");
            return;
        } else if (strncasecmp(argv[i], "nextstate=", 10) == 0) {
            req.next_state = (char *)next_state(argv[i] + 10); /* not changed by packing */
            if (!req.next_state) {
                scontrol_fail(s, "Invalid nextstate: %s\nValid nextstates are: DOWN, RESUME",
                              argv[i] + 10);
                return;
            }
        } else if (strncasecmp(argv[i], "reason=", 7) == 0) {
            req.reason = argv[i] + 7;
        } else {
            break;
        }
    }
    if (i + 1 != argc) {
        scontrol_fail(
            s,
            "scontrol: error: reboot takes one list of nodes after [ASAP] [nextstate=RESUME|DOWN] "
            "[reason=TEXT]");
        return;
    }
    req.nodes = argv[i];
    send_request(s, &req, "scontrol_reboot_nodes");
}

void scontrol_cancel_reboot(struct scontrol *s, int argc, char **argv)
{
    Pst__NodeRebootRequest req = PST__NODE_REBOOT_REQUEST__INIT;

    if (argc != 1) {
        scontrol_fail(s, "scontrol: error: cancel_reboot takes one list of nodes");
        return;
    }
    req.has_cancel = req.cancel = true;
    req.nodes = argv[0];
    send_request(s, &req, "slurm_update");
}
