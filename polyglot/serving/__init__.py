"""Translation server of a run, with the requests of LibreTranslate and a web page.

- `limits`: sizes and times that one client cannot exceed
- `messages`: requests and their fields
- `documents`, `markup`: lines of a text or of HTML, and what is between them
- `languages`: directions of the run, and the language of a text
- `text_reader`: texts in sentences, and their translations joined
- `worker`: thread with the model, which translates waiting requests together
- `service`: answers to requests, without HTTP
- `bodies`, `specification`, `page`, `application`, `server`: HTTP

The libraries of the extra `serve` are imported by `bodies`, `application` and `server` only.
"""
