/* webaccess.h - who may read the metrics: MetricsType, MetricsAuthUsers, MetricsParameters and
 * PrivateData
 *
 * MetricsAuthUsers: root, SlurmUser and these, by token.  Else PrivateData, unless
 * ignore_private_data: root and SlurmUser.  Else everybody. */
#pragma once

#include "http/httpaccess.h"

struct conf;
struct webaccess;

int webaccess_new(struct webaccess **ret);             /* -ENOMEM */
struct webaccess *webaccess_free(struct webaccess *w); /* always NULL */
/* What the configuration says now; any thread. */
void webaccess_configure(struct webaccess *w, const struct conf *conf, struct auth_tokens *tokens);
/* MetricsType=metrics/openmetrics.  Else the pages are empty. */
bool webaccess_metrics_on(struct webaccess *w);
unsigned webaccess_metrics(struct webaccess *w, const struct http_request *r, struct err *err);
/* Whom a token names: any user of the cluster. */
unsigned webaccess_user(struct webaccess *w, const struct http_request *r, struct err *err);
unsigned webaccess_admin(struct webaccess *w, const struct http_request *r, struct err *err);
