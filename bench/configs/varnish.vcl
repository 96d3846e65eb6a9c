# Varnish: its built-in rules, and one refusal.
vcl 4.1;

backend default {
    .host = "127.0.0.1";
    .port = "@origin@";
}

#deny#sub vcl_recv {
#deny#    if (req.url ~ "^/denied") {
#deny#        return (synth(403));
#deny#    }
#deny#}
