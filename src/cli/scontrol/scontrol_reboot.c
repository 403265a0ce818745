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

static void send_reboot(struct scontrol *s, const Pst__NodeRebootRequest *req)
{
    struct client *c = scontrol_client(s, "scontrol_reboot_nodes");
    const char *text = NULL;
    int r = client_call(c, OP_NODE_REBOOT, &req->base, NULL), code = client_error(c, &text);

    if (r >= 0)
        return;
    if (r == -EREMOTEIO && code == ESLURM_REBOOT_IN_PROGRESS && text) {
        cli_error("%s", text); /* the others are rebooted: no failure */
        return;
    }
    scontrol_missing(s, stderr, "scontrol_reboot_nodes error:%s",
                     code == ESLURM_USER_ID_MISSING    ? "Permission denied"
                     : code == ESLURM_DISABLED && text ? text
                                                       : client_strerror(c, r));
}

/* next_state=RESUME|DOWN in upper case, or NULL. */
static const char *next_state(const char *word)
{
    return strcasecmp(word, "resume") == 0 ? "RESUME"
           : strcasecmp(word, "down") == 0 ? "DOWN"
                                           : NULL;
}

/* One word: an option, or the list of nodes.  False: refused. */
static bool take_word(struct scontrol *s, Pst__NodeRebootRequest *req, char *word)
{
    if (strcasecmp(word, "asap") == 0) {
        req->has_asap = req->asap = true;
    } else if (strcasecmp(word, "force") == 0) {
        req->has_force = req->force = true;
    } else if (strncasecmp(word, "action=", 7) == 0) {
        req->action = word + 7;
        if (!word[7])
            scontrol_fail(s, "missing action");
        return word[7] != '\0';
    } else if (strncasecmp(word, "nextstate=", 10) == 0) {
        req->next_state = (char *)next_state(word + 10); /* not changed by packing */
        if (!req->next_state)
            scontrol_missing(s, stderr, "Invalid state: %s\n Valid states: DOWN, RESUME",
                             word + 10);
        return req->next_state != NULL;
    } else if (strncasecmp(word, "reason=", 7) == 0) {
        req->reason = word + 7;
        if (!word[7])
            scontrol_fail(s, "missing reason");
        return word[7] != '\0';
    } else if (req->nodes) {
        scontrol_fail(s, "Multiple node lists specified");
        return false;
    } else {
        req->nodes = word;
    }
    return true;
}

void scontrol_reboot(struct scontrol *s, int argc, char **argv)
{
    Pst__NodeRebootRequest req = PST__NODE_REBOOT_REQUEST__INIT;

    for (int i = 0; i < argc; i++)
        if (!take_word(s, &req, argv[i]))
            return;
    if (!req.nodes)
        scontrol_fail(s, "Missing node list. Specify ALL|<NodeList>");
    else
        send_reboot(s, &req);
}

void scontrol_cancel_reboot(struct scontrol *s, int argc, char **argv)
{
    Pst__NodeRebootRequest req = PST__NODE_REBOOT_REQUEST__INIT;
    int r;

    if (argc != 1) {
        scontrol_fail(s, "%s for keyword:cancel_reboot",
                      argc ? "too many arguments" : "missing argument");
        return;
    }
    req.has_cancel = req.cancel = true;
    req.nodes = argv[0];
    r = client_call(scontrol_client(s, "slurm_update"), OP_NODE_REBOOT, &req.base, NULL);
    if (r < 0)
        scontrol_fail(s, "slurm_update error: %s", client_strerror(s->client, r));
}
