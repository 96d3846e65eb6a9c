# Varnish before the suite's origin; what isn't said here is as it comes.
vcl 4.1;

backend origin {
    .host = "127.0.0.1";
    .port = "{origin}";
}
