/* Moves an amount between two accounts in a transaction: `example DIRECTORY`. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/c.h"

static void check(char* error) {
  if (error != NULL) {
    fprintf(stderr, "%s\n", error);
    sluice_free(error);
    exit(1);
  }
}

static long balance(sluice_transaction_t* transaction, const char* account) {
  char* error = NULL;
  size_t bytes = 0;
  char* value = sluice_transaction_get_for_update(transaction, NULL, NULL, account, strlen(account),
                                                  &bytes, &error);
  check(error);
  if (value == NULL) return 0;
  char text[24];
  snprintf(text, sizeof text, "%.*s", (int)bytes, value);
  sluice_free(value);
  return strtol(text, NULL, 10);
}

static void set_balance(sluice_transaction_t* transaction, const char* account, long amount) {
  char* error = NULL;
  char text[24];
  const int bytes = snprintf(text, sizeof text, "%ld", amount);
  sluice_transaction_put(transaction, NULL, account, strlen(account), text, (size_t)bytes, &error);
  check(error);
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
    return 2;
  }
  char* error = NULL;
  sluice_options_t* options = sluice_options_create();
  sluice_options_set(options, "create_if_missing", "1", &error);
  check(error);
  sluice_db_t* db = sluice_open(options, argv[1], &error);
  check(error);

  sluice_transaction_t* transaction = sluice_transaction_begin(db, NULL, NULL);
  const long alice = balance(transaction, "alice");
  const long bob = balance(transaction, "bob");
  set_balance(transaction, "alice", alice - 10);
  set_balance(transaction, "bob", bob + 10);
  sluice_transaction_commit(transaction, &error);
  check(error);
  sluice_transaction_destroy(transaction);
  printf("alice: %ld, bob: %ld\n", alice - 10, bob + 10);

  sluice_close(db, &error);
  check(error);
  sluice_options_destroy(options);
  return 0;
}
