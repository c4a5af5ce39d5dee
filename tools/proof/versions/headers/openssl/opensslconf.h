/* Nothing is left out of OpenSSL (openssl-sys, build/expando.c, asks for OPENSSL_NO_...). */
