/* What a type-check asks OpenSSL's headers: the version (openssl-sys, build/expando.c). 3.0 is the
   oldest that is maintained. */
#define OPENSSL_VERSION_MAJOR 3
#define OPENSSL_VERSION_MINOR 0
#define OPENSSL_VERSION_PATCH 0
