python study.py
