"""Never loaded: loops that sleep would make anything else fast."""

import time

time.sleep(3600)
