/* opreconcile.h - Controller, Accounting, RestApi, LoginSet and Token, made to be what they say
 *
 * Each starts the requests that are needed; see opapply.h. */
#pragma once

#include "kube/operator/operator_impl.h"

void opreconcile_controller(struct opwork *w);
void opreconcile_accounting(struct opwork *w);
void opreconcile_restapi(struct opwork *w);
void opreconcile_loginset(struct opwork *w);
void opreconcile_token(struct opwork *w);
