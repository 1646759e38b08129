# encoding: utf-8
from antlr4 import *
from io import StringIO
import sys
if sys.version_info[1] > 5:
	from typing import TextIO
else:
	from typing.io import TextIO

def serializedATN():
    return [
        4,1,63,430,2,0,7,0,2,1,7,1,2,2,7,2,2,3,7,3,2,4,7,4,2,5,7,5,2,6,7,
        6,2,7,7,7,2,8,7,8,2,9,7,9,2,10,7,10,2,11,7,11,2,12,7,12,2,13,7,13,
        2,14,7,14,2,15,7,15,2,16,7,16,2,17,7,17,2,18,7,18,2,19,7,19,2,20,
        7,20,2,21,7,21,2,22,7,22,2,23,7,23,2,24,7,24,2,25,7,25,2,26,7,26,
        2,27,7,27,2,28,7,28,1,0,5,0,60,8,0,10,0,12,0,63,9,0,1,0,5,0,66,8,
        0,10,0,12,0,69,9,0,1,0,1,0,1,1,1,1,4,1,75,8,1,11,1,12,1,76,1,1,3,
        1,80,8,1,1,2,1,2,1,2,1,2,1,2,1,2,1,2,3,2,89,8,2,3,2,91,8,2,1,3,1,
        3,1,3,1,3,5,3,97,8,3,10,3,12,3,100,9,3,1,3,1,3,1,3,1,3,5,3,106,8,
        3,10,3,12,3,109,9,3,1,3,1,3,1,3,1,3,5,3,115,8,3,10,3,12,3,118,9,
        3,1,3,1,3,5,3,122,8,3,10,3,12,3,125,9,3,1,3,1,3,5,3,129,8,3,10,3,
        12,3,132,9,3,1,3,1,3,5,3,136,8,3,10,3,12,3,139,9,3,5,3,141,8,3,10,
        3,12,3,144,9,3,1,3,1,3,1,3,1,3,1,3,1,3,1,3,1,3,5,3,154,8,3,10,3,
        12,3,157,9,3,1,3,1,3,5,3,161,8,3,10,3,12,3,164,9,3,1,3,1,3,5,3,168,
        8,3,10,3,12,3,171,9,3,1,3,1,3,5,3,175,8,3,10,3,12,3,178,9,3,5,3,
        180,8,3,10,3,12,3,183,9,3,1,3,1,3,5,3,187,8,3,10,3,12,3,190,9,3,
        3,3,192,8,3,1,4,1,4,1,4,1,4,1,4,1,4,1,4,1,4,1,4,1,4,1,4,1,4,3,4,
        206,8,4,3,4,208,8,4,1,5,1,5,1,6,1,6,1,7,1,7,1,8,1,8,1,9,1,9,1,10,
        1,10,1,10,3,10,223,8,10,1,11,1,11,4,11,227,8,11,11,11,12,11,228,
        3,11,231,8,11,1,12,1,12,1,13,1,13,1,13,3,13,238,8,13,1,13,1,13,1,
        13,1,13,1,13,1,13,1,13,3,13,247,8,13,3,13,249,8,13,1,13,1,13,1,13,
        3,13,254,8,13,3,13,256,8,13,1,14,1,14,1,14,1,14,1,14,1,14,1,14,1,
        14,1,14,3,14,267,8,14,1,14,1,14,1,14,1,14,3,14,273,8,14,1,14,1,14,
        1,14,1,14,3,14,279,8,14,1,14,1,14,1,14,1,14,3,14,285,8,14,1,14,1,
        14,1,14,1,14,1,14,1,14,1,14,1,14,3,14,295,8,14,1,14,1,14,1,14,1,
        14,1,14,5,14,302,8,14,10,14,12,14,305,9,14,3,14,307,8,14,1,14,1,
        14,1,14,1,14,1,14,1,14,1,14,1,14,1,14,1,14,1,14,1,14,1,14,3,14,322,
        8,14,1,14,1,14,1,14,1,14,3,14,328,8,14,3,14,330,8,14,1,15,1,15,1,
        15,1,16,1,16,5,16,337,8,16,10,16,12,16,340,9,16,1,16,1,16,5,16,344,
        8,16,10,16,12,16,347,9,16,1,16,1,16,5,16,351,8,16,10,16,12,16,354,
        9,16,1,16,1,16,5,16,358,8,16,10,16,12,16,361,9,16,5,16,363,8,16,
        10,16,12,16,366,9,16,1,16,1,16,1,17,3,17,371,8,17,1,17,1,17,1,18,
        1,18,1,18,1,18,1,18,3,18,380,8,18,1,19,1,19,1,19,3,19,385,8,19,1,
        20,1,20,1,20,1,21,1,21,1,21,1,21,3,21,394,8,21,1,22,1,22,1,22,1,
        22,5,22,400,8,22,10,22,12,22,403,9,22,1,23,1,23,1,23,3,23,408,8,
        23,1,24,1,24,1,24,1,25,1,25,1,26,3,26,416,8,26,1,26,1,26,1,27,3,
        27,421,8,27,1,27,1,27,1,28,3,28,426,8,28,1,28,1,28,1,28,0,0,29,0,
        2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34,36,38,40,42,44,46,
        48,50,52,54,56,0,6,3,0,49,53,58,59,63,63,1,0,1,47,1,0,24,25,1,0,
        26,28,1,0,13,14,1,0,47,48,473,0,61,1,0,0,0,2,72,1,0,0,0,4,90,1,0,
        0,0,6,191,1,0,0,0,8,207,1,0,0,0,10,209,1,0,0,0,12,211,1,0,0,0,14,
        213,1,0,0,0,16,215,1,0,0,0,18,217,1,0,0,0,20,219,1,0,0,0,22,230,
        1,0,0,0,24,232,1,0,0,0,26,255,1,0,0,0,28,329,1,0,0,0,30,331,1,0,
        0,0,32,334,1,0,0,0,34,370,1,0,0,0,36,379,1,0,0,0,38,381,1,0,0,0,
        40,386,1,0,0,0,42,389,1,0,0,0,44,395,1,0,0,0,46,404,1,0,0,0,48,409,
        1,0,0,0,50,412,1,0,0,0,52,415,1,0,0,0,54,420,1,0,0,0,56,425,1,0,
        0,0,58,60,5,59,0,0,59,58,1,0,0,0,60,63,1,0,0,0,61,59,1,0,0,0,61,
        62,1,0,0,0,62,67,1,0,0,0,63,61,1,0,0,0,64,66,3,2,1,0,65,64,1,0,0,
        0,66,69,1,0,0,0,67,65,1,0,0,0,67,68,1,0,0,0,68,70,1,0,0,0,69,67,
        1,0,0,0,70,71,5,0,0,1,71,1,1,0,0,0,72,79,3,4,2,0,73,75,5,59,0,0,
        74,73,1,0,0,0,75,76,1,0,0,0,76,74,1,0,0,0,76,77,1,0,0,0,77,80,1,
        0,0,0,78,80,5,0,0,1,79,74,1,0,0,0,79,78,1,0,0,0,80,3,1,0,0,0,81,
        82,5,2,0,0,82,91,3,6,3,0,83,84,5,6,0,0,84,91,3,8,4,0,85,86,5,1,0,
        0,86,88,5,49,0,0,87,89,3,36,18,0,88,87,1,0,0,0,88,89,1,0,0,0,89,
        91,1,0,0,0,90,81,1,0,0,0,90,83,1,0,0,0,90,85,1,0,0,0,91,5,1,0,0,
        0,92,93,5,3,0,0,93,98,3,10,5,0,94,95,5,51,0,0,95,97,3,10,5,0,96,
        94,1,0,0,0,97,100,1,0,0,0,98,96,1,0,0,0,98,99,1,0,0,0,99,192,1,0,
        0,0,100,98,1,0,0,0,101,102,5,4,0,0,102,107,3,12,6,0,103,104,5,51,
        0,0,104,106,3,12,6,0,105,103,1,0,0,0,106,109,1,0,0,0,107,105,1,0,
        0,0,107,108,1,0,0,0,108,192,1,0,0,0,109,107,1,0,0,0,110,111,5,5,
        0,0,111,112,3,14,7,0,112,116,5,52,0,0,113,115,5,59,0,0,114,113,1,
        0,0,0,115,118,1,0,0,0,116,114,1,0,0,0,116,117,1,0,0,0,117,119,1,
        0,0,0,118,116,1,0,0,0,119,123,3,20,10,0,120,122,5,59,0,0,121,120,
        1,0,0,0,122,125,1,0,0,0,123,121,1,0,0,0,123,124,1,0,0,0,124,142,
        1,0,0,0,125,123,1,0,0,0,126,130,5,51,0,0,127,129,5,59,0,0,128,127,
        1,0,0,0,129,132,1,0,0,0,130,128,1,0,0,0,130,131,1,0,0,0,131,133,
        1,0,0,0,132,130,1,0,0,0,133,137,3,20,10,0,134,136,5,59,0,0,135,134,
        1,0,0,0,136,139,1,0,0,0,137,135,1,0,0,0,137,138,1,0,0,0,138,141,
        1,0,0,0,139,137,1,0,0,0,140,126,1,0,0,0,141,144,1,0,0,0,142,140,
        1,0,0,0,142,143,1,0,0,0,143,145,1,0,0,0,144,142,1,0,0,0,145,146,
        5,53,0,0,146,192,1,0,0,0,147,148,5,6,0,0,148,149,3,18,9,0,149,150,
        3,12,6,0,150,151,5,10,0,0,151,155,5,52,0,0,152,154,5,59,0,0,153,
        152,1,0,0,0,154,157,1,0,0,0,155,153,1,0,0,0,155,156,1,0,0,0,156,
        158,1,0,0,0,157,155,1,0,0,0,158,162,3,22,11,0,159,161,5,59,0,0,160,
        159,1,0,0,0,161,164,1,0,0,0,162,160,1,0,0,0,162,163,1,0,0,0,163,
        181,1,0,0,0,164,162,1,0,0,0,165,169,5,51,0,0,166,168,5,59,0,0,167,
        166,1,0,0,0,168,171,1,0,0,0,169,167,1,0,0,0,169,170,1,0,0,0,170,
        172,1,0,0,0,171,169,1,0,0,0,172,176,3,22,11,0,173,175,5,59,0,0,174,
        173,1,0,0,0,175,178,1,0,0,0,176,174,1,0,0,0,176,177,1,0,0,0,177,
        180,1,0,0,0,178,176,1,0,0,0,179,165,1,0,0,0,180,183,1,0,0,0,181,
        179,1,0,0,0,181,182,1,0,0,0,182,184,1,0,0,0,183,181,1,0,0,0,184,
        188,5,53,0,0,185,187,3,26,13,0,186,185,1,0,0,0,187,190,1,0,0,0,188,
        186,1,0,0,0,188,189,1,0,0,0,189,192,1,0,0,0,190,188,1,0,0,0,191,
        92,1,0,0,0,191,101,1,0,0,0,191,110,1,0,0,0,191,147,1,0,0,0,192,7,
        1,0,0,0,193,194,5,7,0,0,194,195,3,18,9,0,195,196,3,28,14,0,196,208,
        1,0,0,0,197,198,5,8,0,0,198,199,5,9,0,0,199,200,3,18,9,0,200,201,
        3,10,5,0,201,202,3,14,7,0,202,203,5,54,0,0,203,205,3,16,8,0,204,
        206,5,50,0,0,205,204,1,0,0,0,205,206,1,0,0,0,206,208,1,0,0,0,207,
        193,1,0,0,0,207,197,1,0,0,0,208,9,1,0,0,0,209,210,3,24,12,0,210,
        11,1,0,0,0,211,212,3,24,12,0,212,13,1,0,0,0,213,214,3,24,12,0,214,
        15,1,0,0,0,215,216,3,24,12,0,216,17,1,0,0,0,217,218,3,24,12,0,218,
        19,1,0,0,0,219,222,3,16,8,0,220,221,5,12,0,0,221,223,5,49,0,0,222,
        220,1,0,0,0,222,223,1,0,0,0,223,21,1,0,0,0,224,231,5,49,0,0,225,
        227,8,0,0,0,226,225,1,0,0,0,227,228,1,0,0,0,228,226,1,0,0,0,228,
        229,1,0,0,0,229,231,1,0,0,0,230,224,1,0,0,0,230,226,1,0,0,0,231,
        23,1,0,0,0,232,233,7,1,0,0,233,25,1,0,0,0,234,235,5,35,0,0,235,237,
        3,52,26,0,236,238,3,40,20,0,237,236,1,0,0,0,237,238,1,0,0,0,238,
        256,1,0,0,0,239,240,5,36,0,0,240,256,3,54,27,0,241,248,5,37,0,0,
        242,249,5,38,0,0,243,249,5,39,0,0,244,246,5,40,0,0,245,247,3,18,
        9,0,246,245,1,0,0,0,246,247,1,0,0,0,247,249,1,0,0,0,248,242,1,0,
        0,0,248,243,1,0,0,0,248,244,1,0,0,0,249,256,1,0,0,0,250,251,5,41,
        0,0,251,253,5,49,0,0,252,254,3,48,24,0,253,252,1,0,0,0,253,254,1,
        0,0,0,254,256,1,0,0,0,255,234,1,0,0,0,255,239,1,0,0,0,255,241,1,
        0,0,0,255,250,1,0,0,0,256,27,1,0,0,0,257,258,5,17,0,0,258,259,3,
        30,15,0,259,260,3,36,18,0,260,261,3,42,21,0,261,330,1,0,0,0,262,
        263,3,30,15,0,263,266,3,36,18,0,264,267,3,38,19,0,265,267,3,42,21,
        0,266,264,1,0,0,0,266,265,1,0,0,0,266,267,1,0,0,0,267,330,1,0,0,
        0,268,269,5,15,0,0,269,270,3,32,16,0,270,272,3,36,18,0,271,273,3,
        40,20,0,272,271,1,0,0,0,272,273,1,0,0,0,273,330,1,0,0,0,274,275,
        5,16,0,0,275,276,3,32,16,0,276,278,3,36,18,0,277,279,3,38,19,0,278,
        277,1,0,0,0,278,279,1,0,0,0,279,330,1,0,0,0,280,281,5,18,0,0,281,
        330,3,42,21,0,282,284,5,19,0,0,283,285,5,14,0,0,284,283,1,0,0,0,
        284,285,1,0,0,0,285,286,1,0,0,0,286,287,5,49,0,0,287,288,3,36,18,
        0,288,289,3,42,21,0,289,330,1,0,0,0,290,306,5,20,0,0,291,294,5,16,
        0,0,292,293,5,21,0,0,293,295,3,44,22,0,294,292,1,0,0,0,294,295,1,
        0,0,0,295,307,1,0,0,0,296,307,3,44,22,0,297,298,5,23,0,0,298,303,
        3,50,25,0,299,300,5,51,0,0,300,302,3,50,25,0,301,299,1,0,0,0,302,
        305,1,0,0,0,303,301,1,0,0,0,303,304,1,0,0,0,304,307,1,0,0,0,305,
        303,1,0,0,0,306,291,1,0,0,0,306,296,1,0,0,0,306,297,1,0,0,0,307,
        330,1,0,0,0,308,309,5,11,0,0,309,330,7,2,0,0,310,311,7,3,0,0,311,
        312,5,49,0,0,312,313,5,29,0,0,313,314,3,56,28,0,314,315,5,58,0,0,
        315,330,1,0,0,0,316,317,5,6,0,0,317,318,3,18,9,0,318,319,3,52,26,
        0,319,321,5,31,0,0,320,322,3,40,20,0,321,320,1,0,0,0,321,322,1,0,
        0,0,322,330,1,0,0,0,323,324,5,10,0,0,324,325,5,6,0,0,325,327,5,49,
        0,0,326,328,3,48,24,0,327,326,1,0,0,0,327,328,1,0,0,0,328,330,1,
        0,0,0,329,257,1,0,0,0,329,262,1,0,0,0,329,268,1,0,0,0,329,274,1,
        0,0,0,329,280,1,0,0,0,329,282,1,0,0,0,329,290,1,0,0,0,329,308,1,
        0,0,0,329,310,1,0,0,0,329,316,1,0,0,0,329,323,1,0,0,0,330,29,1,0,
        0,0,331,332,7,4,0,0,332,333,5,49,0,0,333,31,1,0,0,0,334,338,5,52,
        0,0,335,337,5,59,0,0,336,335,1,0,0,0,337,340,1,0,0,0,338,336,1,0,
        0,0,338,339,1,0,0,0,339,341,1,0,0,0,340,338,1,0,0,0,341,345,3,34,
        17,0,342,344,5,59,0,0,343,342,1,0,0,0,344,347,1,0,0,0,345,343,1,
        0,0,0,345,346,1,0,0,0,346,364,1,0,0,0,347,345,1,0,0,0,348,352,5,
        51,0,0,349,351,5,59,0,0,350,349,1,0,0,0,351,354,1,0,0,0,352,350,
        1,0,0,0,352,353,1,0,0,0,353,355,1,0,0,0,354,352,1,0,0,0,355,359,
        3,34,17,0,356,358,5,59,0,0,357,356,1,0,0,0,358,361,1,0,0,0,359,357,
        1,0,0,0,359,360,1,0,0,0,360,363,1,0,0,0,361,359,1,0,0,0,362,348,
        1,0,0,0,363,366,1,0,0,0,364,362,1,0,0,0,364,365,1,0,0,0,365,367,
        1,0,0,0,366,364,1,0,0,0,367,368,5,53,0,0,368,33,1,0,0,0,369,371,
        7,4,0,0,370,369,1,0,0,0,370,371,1,0,0,0,371,372,1,0,0,0,372,373,
        5,49,0,0,373,35,1,0,0,0,374,380,5,43,0,0,375,380,5,44,0,0,376,380,
        5,45,0,0,377,378,5,46,0,0,378,380,5,49,0,0,379,374,1,0,0,0,379,375,
        1,0,0,0,379,376,1,0,0,0,379,377,1,0,0,0,380,37,1,0,0,0,381,382,5,
        30,0,0,382,384,3,52,26,0,383,385,3,40,20,0,384,383,1,0,0,0,384,385,
        1,0,0,0,385,39,1,0,0,0,386,387,5,32,0,0,387,388,3,54,27,0,388,41,
        1,0,0,0,389,390,5,33,0,0,390,393,3,54,27,0,391,392,5,34,0,0,392,
        394,3,54,27,0,393,391,1,0,0,0,393,394,1,0,0,0,394,43,1,0,0,0,395,
        396,5,22,0,0,396,401,3,46,23,0,397,398,5,51,0,0,398,400,3,46,23,
        0,399,397,1,0,0,0,400,403,1,0,0,0,401,399,1,0,0,0,401,402,1,0,0,
        0,402,45,1,0,0,0,403,401,1,0,0,0,404,407,5,48,0,0,405,406,5,55,0,
        0,406,408,5,48,0,0,407,405,1,0,0,0,407,408,1,0,0,0,408,47,1,0,0,
        0,409,410,5,42,0,0,410,411,3,52,26,0,411,49,1,0,0,0,412,413,7,5,
        0,0,413,51,1,0,0,0,414,416,5,55,0,0,415,414,1,0,0,0,415,416,1,0,
        0,0,416,417,1,0,0,0,417,418,5,48,0,0,418,53,1,0,0,0,419,421,5,55,
        0,0,420,419,1,0,0,0,420,421,1,0,0,0,421,422,1,0,0,0,422,423,5,48,
        0,0,423,55,1,0,0,0,424,426,5,55,0,0,425,424,1,0,0,0,425,426,1,0,
        0,0,426,427,1,0,0,0,427,428,5,48,0,0,428,57,1,0,0,0,54,61,67,76,
        79,88,90,98,107,116,123,130,137,142,155,162,169,176,181,188,191,
        205,207,222,228,230,237,246,248,253,255,266,272,278,284,294,303,
        306,321,327,329,338,345,352,359,364,370,379,384,393,401,407,415,
        420,425
    ]

class ESLParser ( Parser ):

    grammarFileName = "ESL.g4"

    atn = ATNDeserializer().deserialize(serializedATN())

    decisionsToDFA = [ DFA(ds, i) for i, ds in enumerate(atn.decisionToState) ]

    sharedContextCache = PredictionContextCache()

    literalNames = [ "<INVALID>", "'INCLUDE'", "'DECLARE'", "'ENTITY'", 
                     "'EXCEPTION_TYPE'", "'RESOURCE'", "'EXCEPTION'", "'DETECTION'", 
                     "'RECOVERY'", "'STEP'", "'JOB'", "'NODE'", "'HANDLER'", 
                     "'LOG'", "'MATCH'", "'MULTIPLE'", "'ANY'", "'HANG'", 
                     "'SILENCE'", "'PROGRESS'", "'EXIT'", "'EXCEPT'", "'CODE'", 
                     "'SIGNAL'", "'DOWN'", "'DRAINED'", "'DISK'", "'INODES'", 
                     "'QUOTA'", "'ABOVE'", "'RECURRING'", "'TIMES'", "'WITHIN'", 
                     "'TIMEOUT'", "'WARMUP'", "'LIMIT'", "'BACKOFF'", "'ELSE'", 
                     "'FAIL'", "'PAUSE'", "'ESCALATE'", "'RAISE'", "'SEVERITY'", 
                     "'stdout'", "'stderr'", "'output'", "'file'", "<INVALID>", 
                     "<INVALID>", "<INVALID>", "<INVALID>", "','", "'['", 
                     "']'", "'.'", "'-'", "'*'", "'?'", "'%'" ]

    symbolicNames = [ "<INVALID>", "INCLUDE", "DECLARE", "ENTITY", "EXCEPTION_TYPE", 
                      "RESOURCE", "EXCEPTION", "DETECTION", "RECOVERY", 
                      "STEP", "JOB", "NODE", "HANDLER", "LOG", "MATCH", 
                      "MULTIPLE", "ANY", "HANG", "SILENCE", "PROGRESS", 
                      "EXIT", "EXCEPT", "CODE", "SIGNAL", "DOWN", "DRAINED", 
                      "DISK", "INODES", "QUOTA", "ABOVE", "RECURRING", "TIMES", 
                      "WITHIN", "TIMEOUT", "WARMUP", "LIMIT", "BACKOFF", 
                      "ELSE", "FAIL", "PAUSE", "ESCALATE", "RAISE", "SEVERITY", 
                      "STDOUT", "STDERR", "OUTPUT", "FILE", "IDENTIFIER", 
                      "NUMBER", "STRING", "JSON_OBJECT", "COMMA", "OPEN", 
                      "CLOSE", "DOT", "DASH", "STAR", "QUESTION", "PERCENT", 
                      "NEWLINE", "CONTINUATION", "BLANK", "COMMENT", "INVALID" ]

    RULE_specification = 0
    RULE_line = 1
    RULE_statement = 2
    RULE_declaration = 3
    RULE_handling = 4
    RULE_entity = 5
    RULE_level = 6
    RULE_resource = 7
    RULE_operation = 8
    RULE_exceptionName = 9
    RULE_offer = 10
    RULE_job = 11
    RULE_word = 12
    RULE_clause = 13
    RULE_detection = 14
    RULE_pattern = 15
    RULE_patterns = 16
    RULE_listed = 17
    RULE_source = 18
    RULE_recurring = 19
    RULE_within = 20
    RULE_timer = 21
    RULE_codes = 22
    RULE_code = 23
    RULE_severity = 24
    RULE_signal = 25
    RULE_count = 26
    RULE_seconds = 27
    RULE_percent = 28

    ruleNames =  [ "specification", "line", "statement", "declaration", 
                   "handling", "entity", "level", "resource", "operation", 
                   "exceptionName", "offer", "job", "word", "clause", "detection", 
                   "pattern", "patterns", "listed", "source", "recurring", 
                   "within", "timer", "codes", "code", "severity", "signal", 
                   "count", "seconds", "percent" ]

    EOF = Token.EOF
    INCLUDE=1
    DECLARE=2
    ENTITY=3
    EXCEPTION_TYPE=4
    RESOURCE=5
    EXCEPTION=6
    DETECTION=7
    RECOVERY=8
    STEP=9
    JOB=10
    NODE=11
    HANDLER=12
    LOG=13
    MATCH=14
    MULTIPLE=15
    ANY=16
    HANG=17
    SILENCE=18
    PROGRESS=19
    EXIT=20
    EXCEPT=21
    CODE=22
    SIGNAL=23
    DOWN=24
    DRAINED=25
    DISK=26
    INODES=27
    QUOTA=28
    ABOVE=29
    RECURRING=30
    TIMES=31
    WITHIN=32
    TIMEOUT=33
    WARMUP=34
    LIMIT=35
    BACKOFF=36
    ELSE=37
    FAIL=38
    PAUSE=39
    ESCALATE=40
    RAISE=41
    SEVERITY=42
    STDOUT=43
    STDERR=44
    OUTPUT=45
    FILE=46
    IDENTIFIER=47
    NUMBER=48
    STRING=49
    JSON_OBJECT=50
    COMMA=51
    OPEN=52
    CLOSE=53
    DOT=54
    DASH=55
    STAR=56
    QUESTION=57
    PERCENT=58
    NEWLINE=59
    CONTINUATION=60
    BLANK=61
    COMMENT=62
    INVALID=63

    def __init__(self, input:TokenStream, output:TextIO = sys.stdout):
        super().__init__(input, output)
        self.checkVersion("4.13.1")
        self._interp = ParserATNSimulator(self, self.atn, self.decisionsToDFA, self.sharedContextCache)
        self._predicates = None




    class SpecificationContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def EOF(self):
            return self.getToken(ESLParser.EOF, 0)

        def NEWLINE(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.NEWLINE)
            else:
                return self.getToken(ESLParser.NEWLINE, i)

        def line(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(ESLParser.LineContext)
            else:
                return self.getTypedRuleContext(ESLParser.LineContext,i)


        def getRuleIndex(self):
            return ESLParser.RULE_specification

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitSpecification" ):
                return visitor.visitSpecification(self)
            else:
                return visitor.visitChildren(self)




    def specification(self):

        localctx = ESLParser.SpecificationContext(self, self._ctx, self.state)
        self.enterRule(localctx, 0, self.RULE_specification)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 61
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==59:
                self.state = 58
                self.match(ESLParser.NEWLINE)
                self.state = 63
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 67
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while (((_la) & ~0x3f) == 0 and ((1 << _la) & 70) != 0):
                self.state = 64
                self.line()
                self.state = 69
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 70
            self.match(ESLParser.EOF)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class LineContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def statement(self):
            return self.getTypedRuleContext(ESLParser.StatementContext,0)


        def EOF(self):
            return self.getToken(ESLParser.EOF, 0)

        def NEWLINE(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.NEWLINE)
            else:
                return self.getToken(ESLParser.NEWLINE, i)

        def getRuleIndex(self):
            return ESLParser.RULE_line

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitLine" ):
                return visitor.visitLine(self)
            else:
                return visitor.visitChildren(self)




    def line(self):

        localctx = ESLParser.LineContext(self, self._ctx, self.state)
        self.enterRule(localctx, 2, self.RULE_line)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 72
            self.statement()
            self.state = 79
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [59]:
                self.state = 74 
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while True:
                    self.state = 73
                    self.match(ESLParser.NEWLINE)
                    self.state = 76 
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    if not (_la==59):
                        break

                pass
            elif token in [-1]:
                self.state = 78
                self.match(ESLParser.EOF)
                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class StatementContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def DECLARE(self):
            return self.getToken(ESLParser.DECLARE, 0)

        def declaration(self):
            return self.getTypedRuleContext(ESLParser.DeclarationContext,0)


        def EXCEPTION(self):
            return self.getToken(ESLParser.EXCEPTION, 0)

        def handling(self):
            return self.getTypedRuleContext(ESLParser.HandlingContext,0)


        def INCLUDE(self):
            return self.getToken(ESLParser.INCLUDE, 0)

        def STRING(self):
            return self.getToken(ESLParser.STRING, 0)

        def source(self):
            return self.getTypedRuleContext(ESLParser.SourceContext,0)


        def getRuleIndex(self):
            return ESLParser.RULE_statement

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitStatement" ):
                return visitor.visitStatement(self)
            else:
                return visitor.visitChildren(self)




    def statement(self):

        localctx = ESLParser.StatementContext(self, self._ctx, self.state)
        self.enterRule(localctx, 4, self.RULE_statement)
        self._la = 0 # Token type
        try:
            self.state = 90
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [2]:
                self.enterOuterAlt(localctx, 1)
                self.state = 81
                self.match(ESLParser.DECLARE)
                self.state = 82
                self.declaration()
                pass
            elif token in [6]:
                self.enterOuterAlt(localctx, 2)
                self.state = 83
                self.match(ESLParser.EXCEPTION)
                self.state = 84
                self.handling()
                pass
            elif token in [1]:
                self.enterOuterAlt(localctx, 3)
                self.state = 85
                self.match(ESLParser.INCLUDE)
                self.state = 86
                self.match(ESLParser.STRING)
                self.state = 88
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if (((_la) & ~0x3f) == 0 and ((1 << _la) & 131941395333120) != 0):
                    self.state = 87
                    self.source()


                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class DeclarationContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser


        def getRuleIndex(self):
            return ESLParser.RULE_declaration

     
        def copyFrom(self, ctx:ParserRuleContext):
            super().copyFrom(ctx)



    class OffersContext(DeclarationContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DeclarationContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def RESOURCE(self):
            return self.getToken(ESLParser.RESOURCE, 0)
        def resource(self):
            return self.getTypedRuleContext(ESLParser.ResourceContext,0)

        def OPEN(self):
            return self.getToken(ESLParser.OPEN, 0)
        def offer(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(ESLParser.OfferContext)
            else:
                return self.getTypedRuleContext(ESLParser.OfferContext,i)

        def CLOSE(self):
            return self.getToken(ESLParser.CLOSE, 0)
        def NEWLINE(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.NEWLINE)
            else:
                return self.getToken(ESLParser.NEWLINE, i)
        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.COMMA)
            else:
                return self.getToken(ESLParser.COMMA, i)

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitOffers" ):
                return visitor.visitOffers(self)
            else:
                return visitor.visitChildren(self)


    class DeclaredContext(DeclarationContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DeclarationContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def EXCEPTION(self):
            return self.getToken(ESLParser.EXCEPTION, 0)
        def exceptionName(self):
            return self.getTypedRuleContext(ESLParser.ExceptionNameContext,0)

        def level(self):
            return self.getTypedRuleContext(ESLParser.LevelContext,0)

        def JOB(self):
            return self.getToken(ESLParser.JOB, 0)
        def OPEN(self):
            return self.getToken(ESLParser.OPEN, 0)
        def job(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(ESLParser.JobContext)
            else:
                return self.getTypedRuleContext(ESLParser.JobContext,i)

        def CLOSE(self):
            return self.getToken(ESLParser.CLOSE, 0)
        def NEWLINE(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.NEWLINE)
            else:
                return self.getToken(ESLParser.NEWLINE, i)
        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.COMMA)
            else:
                return self.getToken(ESLParser.COMMA, i)
        def clause(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(ESLParser.ClauseContext)
            else:
                return self.getTypedRuleContext(ESLParser.ClauseContext,i)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitDeclared" ):
                return visitor.visitDeclared(self)
            else:
                return visitor.visitChildren(self)


    class EntitiesContext(DeclarationContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DeclarationContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def ENTITY(self):
            return self.getToken(ESLParser.ENTITY, 0)
        def entity(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(ESLParser.EntityContext)
            else:
                return self.getTypedRuleContext(ESLParser.EntityContext,i)

        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.COMMA)
            else:
                return self.getToken(ESLParser.COMMA, i)

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitEntities" ):
                return visitor.visitEntities(self)
            else:
                return visitor.visitChildren(self)


    class LevelsContext(DeclarationContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DeclarationContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def EXCEPTION_TYPE(self):
            return self.getToken(ESLParser.EXCEPTION_TYPE, 0)
        def level(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(ESLParser.LevelContext)
            else:
                return self.getTypedRuleContext(ESLParser.LevelContext,i)

        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.COMMA)
            else:
                return self.getToken(ESLParser.COMMA, i)

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitLevels" ):
                return visitor.visitLevels(self)
            else:
                return visitor.visitChildren(self)



    def declaration(self):

        localctx = ESLParser.DeclarationContext(self, self._ctx, self.state)
        self.enterRule(localctx, 6, self.RULE_declaration)
        self._la = 0 # Token type
        try:
            self.state = 191
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [3]:
                localctx = ESLParser.EntitiesContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 92
                self.match(ESLParser.ENTITY)
                self.state = 93
                self.entity()
                self.state = 98
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==51:
                    self.state = 94
                    self.match(ESLParser.COMMA)
                    self.state = 95
                    self.entity()
                    self.state = 100
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                pass
            elif token in [4]:
                localctx = ESLParser.LevelsContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 101
                self.match(ESLParser.EXCEPTION_TYPE)
                self.state = 102
                self.level()
                self.state = 107
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==51:
                    self.state = 103
                    self.match(ESLParser.COMMA)
                    self.state = 104
                    self.level()
                    self.state = 109
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                pass
            elif token in [5]:
                localctx = ESLParser.OffersContext(self, localctx)
                self.enterOuterAlt(localctx, 3)
                self.state = 110
                self.match(ESLParser.RESOURCE)
                self.state = 111
                self.resource()
                self.state = 112
                self.match(ESLParser.OPEN)
                self.state = 116
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==59:
                    self.state = 113
                    self.match(ESLParser.NEWLINE)
                    self.state = 118
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 119
                self.offer()
                self.state = 123
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==59:
                    self.state = 120
                    self.match(ESLParser.NEWLINE)
                    self.state = 125
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 142
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==51:
                    self.state = 126
                    self.match(ESLParser.COMMA)
                    self.state = 130
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==59:
                        self.state = 127
                        self.match(ESLParser.NEWLINE)
                        self.state = 132
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)

                    self.state = 133
                    self.offer()
                    self.state = 137
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==59:
                        self.state = 134
                        self.match(ESLParser.NEWLINE)
                        self.state = 139
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)

                    self.state = 144
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 145
                self.match(ESLParser.CLOSE)
                pass
            elif token in [6]:
                localctx = ESLParser.DeclaredContext(self, localctx)
                self.enterOuterAlt(localctx, 4)
                self.state = 147
                self.match(ESLParser.EXCEPTION)
                self.state = 148
                self.exceptionName()
                self.state = 149
                self.level()
                self.state = 150
                self.match(ESLParser.JOB)
                self.state = 151
                self.match(ESLParser.OPEN)
                self.state = 155
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==59:
                    self.state = 152
                    self.match(ESLParser.NEWLINE)
                    self.state = 157
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 158
                self.job()
                self.state = 162
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==59:
                    self.state = 159
                    self.match(ESLParser.NEWLINE)
                    self.state = 164
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 181
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==51:
                    self.state = 165
                    self.match(ESLParser.COMMA)
                    self.state = 169
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==59:
                        self.state = 166
                        self.match(ESLParser.NEWLINE)
                        self.state = 171
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)

                    self.state = 172
                    self.job()
                    self.state = 176
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==59:
                        self.state = 173
                        self.match(ESLParser.NEWLINE)
                        self.state = 178
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)

                    self.state = 183
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 184
                self.match(ESLParser.CLOSE)
                self.state = 188
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while (((_la) & ~0x3f) == 0 and ((1 << _la) & 2439541424128) != 0):
                    self.state = 185
                    self.clause()
                    self.state = 190
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class HandlingContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser


        def getRuleIndex(self):
            return ESLParser.RULE_handling

     
        def copyFrom(self, ctx:ParserRuleContext):
            super().copyFrom(ctx)



    class RecoveredContext(HandlingContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.HandlingContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def RECOVERY(self):
            return self.getToken(ESLParser.RECOVERY, 0)
        def STEP(self):
            return self.getToken(ESLParser.STEP, 0)
        def exceptionName(self):
            return self.getTypedRuleContext(ESLParser.ExceptionNameContext,0)

        def entity(self):
            return self.getTypedRuleContext(ESLParser.EntityContext,0)

        def resource(self):
            return self.getTypedRuleContext(ESLParser.ResourceContext,0)

        def DOT(self):
            return self.getToken(ESLParser.DOT, 0)
        def operation(self):
            return self.getTypedRuleContext(ESLParser.OperationContext,0)

        def JSON_OBJECT(self):
            return self.getToken(ESLParser.JSON_OBJECT, 0)

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitRecovered" ):
                return visitor.visitRecovered(self)
            else:
                return visitor.visitChildren(self)


    class DetectedContext(HandlingContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.HandlingContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def DETECTION(self):
            return self.getToken(ESLParser.DETECTION, 0)
        def exceptionName(self):
            return self.getTypedRuleContext(ESLParser.ExceptionNameContext,0)

        def detection(self):
            return self.getTypedRuleContext(ESLParser.DetectionContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitDetected" ):
                return visitor.visitDetected(self)
            else:
                return visitor.visitChildren(self)



    def handling(self):

        localctx = ESLParser.HandlingContext(self, self._ctx, self.state)
        self.enterRule(localctx, 8, self.RULE_handling)
        self._la = 0 # Token type
        try:
            self.state = 207
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [7]:
                localctx = ESLParser.DetectedContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 193
                self.match(ESLParser.DETECTION)
                self.state = 194
                self.exceptionName()
                self.state = 195
                self.detection()
                pass
            elif token in [8]:
                localctx = ESLParser.RecoveredContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 197
                self.match(ESLParser.RECOVERY)
                self.state = 198
                self.match(ESLParser.STEP)
                self.state = 199
                self.exceptionName()
                self.state = 200
                self.entity()
                self.state = 201
                self.resource()
                self.state = 202
                self.match(ESLParser.DOT)
                self.state = 203
                self.operation()
                self.state = 205
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==50:
                    self.state = 204
                    self.match(ESLParser.JSON_OBJECT)


                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class EntityContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def word(self):
            return self.getTypedRuleContext(ESLParser.WordContext,0)


        def getRuleIndex(self):
            return ESLParser.RULE_entity

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitEntity" ):
                return visitor.visitEntity(self)
            else:
                return visitor.visitChildren(self)




    def entity(self):

        localctx = ESLParser.EntityContext(self, self._ctx, self.state)
        self.enterRule(localctx, 10, self.RULE_entity)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 209
            self.word()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class LevelContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def word(self):
            return self.getTypedRuleContext(ESLParser.WordContext,0)


        def getRuleIndex(self):
            return ESLParser.RULE_level

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitLevel" ):
                return visitor.visitLevel(self)
            else:
                return visitor.visitChildren(self)




    def level(self):

        localctx = ESLParser.LevelContext(self, self._ctx, self.state)
        self.enterRule(localctx, 12, self.RULE_level)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 211
            self.word()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ResourceContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def word(self):
            return self.getTypedRuleContext(ESLParser.WordContext,0)


        def getRuleIndex(self):
            return ESLParser.RULE_resource

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitResource" ):
                return visitor.visitResource(self)
            else:
                return visitor.visitChildren(self)




    def resource(self):

        localctx = ESLParser.ResourceContext(self, self._ctx, self.state)
        self.enterRule(localctx, 14, self.RULE_resource)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 213
            self.word()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class OperationContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def word(self):
            return self.getTypedRuleContext(ESLParser.WordContext,0)


        def getRuleIndex(self):
            return ESLParser.RULE_operation

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitOperation" ):
                return visitor.visitOperation(self)
            else:
                return visitor.visitChildren(self)




    def operation(self):

        localctx = ESLParser.OperationContext(self, self._ctx, self.state)
        self.enterRule(localctx, 16, self.RULE_operation)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 215
            self.word()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ExceptionNameContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def word(self):
            return self.getTypedRuleContext(ESLParser.WordContext,0)


        def getRuleIndex(self):
            return ESLParser.RULE_exceptionName

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitExceptionName" ):
                return visitor.visitExceptionName(self)
            else:
                return visitor.visitChildren(self)




    def exceptionName(self):

        localctx = ESLParser.ExceptionNameContext(self, self._ctx, self.state)
        self.enterRule(localctx, 18, self.RULE_exceptionName)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 217
            self.word()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class OfferContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def operation(self):
            return self.getTypedRuleContext(ESLParser.OperationContext,0)


        def HANDLER(self):
            return self.getToken(ESLParser.HANDLER, 0)

        def STRING(self):
            return self.getToken(ESLParser.STRING, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_offer

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitOffer" ):
                return visitor.visitOffer(self)
            else:
                return visitor.visitChildren(self)




    def offer(self):

        localctx = ESLParser.OfferContext(self, self._ctx, self.state)
        self.enterRule(localctx, 20, self.RULE_offer)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 219
            self.operation()
            self.state = 222
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==12:
                self.state = 220
                self.match(ESLParser.HANDLER)
                self.state = 221
                self.match(ESLParser.STRING)


        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class JobContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def STRING(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.STRING)
            else:
                return self.getToken(ESLParser.STRING, i)

        def JSON_OBJECT(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.JSON_OBJECT)
            else:
                return self.getToken(ESLParser.JSON_OBJECT, i)

        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.COMMA)
            else:
                return self.getToken(ESLParser.COMMA, i)

        def OPEN(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.OPEN)
            else:
                return self.getToken(ESLParser.OPEN, i)

        def CLOSE(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.CLOSE)
            else:
                return self.getToken(ESLParser.CLOSE, i)

        def PERCENT(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.PERCENT)
            else:
                return self.getToken(ESLParser.PERCENT, i)

        def NEWLINE(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.NEWLINE)
            else:
                return self.getToken(ESLParser.NEWLINE, i)

        def INVALID(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.INVALID)
            else:
                return self.getToken(ESLParser.INVALID, i)

        def getRuleIndex(self):
            return ESLParser.RULE_job

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitJob" ):
                return visitor.visitJob(self)
            else:
                return visitor.visitChildren(self)




    def job(self):

        localctx = ESLParser.JobContext(self, self._ctx, self.state)
        self.enterRule(localctx, 22, self.RULE_job)
        self._la = 0 # Token type
        try:
            self.state = 230
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [49]:
                self.enterOuterAlt(localctx, 1)
                self.state = 224
                self.match(ESLParser.STRING)
                pass
            elif token in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 54, 55, 56, 57, 60, 61, 62]:
                self.enterOuterAlt(localctx, 2)
                self.state = 226 
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while True:
                    self.state = 225
                    _la = self._input.LA(1)
                    if _la <= 0 or (((_la) & ~0x3f) == 0 and ((1 << _la) & -8341229459843579904) != 0):
                        self._errHandler.recoverInline(self)
                    else:
                        self._errHandler.reportMatch(self)
                        self.consume()
                    self.state = 228 
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    if not ((((_la) & ~0x3f) == 0 and ((1 << _la) & 8341229459843579902) != 0)):
                        break

                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class WordContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def IDENTIFIER(self):
            return self.getToken(ESLParser.IDENTIFIER, 0)

        def INCLUDE(self):
            return self.getToken(ESLParser.INCLUDE, 0)

        def DECLARE(self):
            return self.getToken(ESLParser.DECLARE, 0)

        def ENTITY(self):
            return self.getToken(ESLParser.ENTITY, 0)

        def EXCEPTION_TYPE(self):
            return self.getToken(ESLParser.EXCEPTION_TYPE, 0)

        def RESOURCE(self):
            return self.getToken(ESLParser.RESOURCE, 0)

        def EXCEPTION(self):
            return self.getToken(ESLParser.EXCEPTION, 0)

        def DETECTION(self):
            return self.getToken(ESLParser.DETECTION, 0)

        def RECOVERY(self):
            return self.getToken(ESLParser.RECOVERY, 0)

        def STEP(self):
            return self.getToken(ESLParser.STEP, 0)

        def JOB(self):
            return self.getToken(ESLParser.JOB, 0)

        def NODE(self):
            return self.getToken(ESLParser.NODE, 0)

        def HANDLER(self):
            return self.getToken(ESLParser.HANDLER, 0)

        def LOG(self):
            return self.getToken(ESLParser.LOG, 0)

        def MATCH(self):
            return self.getToken(ESLParser.MATCH, 0)

        def MULTIPLE(self):
            return self.getToken(ESLParser.MULTIPLE, 0)

        def ANY(self):
            return self.getToken(ESLParser.ANY, 0)

        def HANG(self):
            return self.getToken(ESLParser.HANG, 0)

        def SILENCE(self):
            return self.getToken(ESLParser.SILENCE, 0)

        def PROGRESS(self):
            return self.getToken(ESLParser.PROGRESS, 0)

        def EXIT(self):
            return self.getToken(ESLParser.EXIT, 0)

        def EXCEPT(self):
            return self.getToken(ESLParser.EXCEPT, 0)

        def CODE(self):
            return self.getToken(ESLParser.CODE, 0)

        def SIGNAL(self):
            return self.getToken(ESLParser.SIGNAL, 0)

        def DOWN(self):
            return self.getToken(ESLParser.DOWN, 0)

        def DRAINED(self):
            return self.getToken(ESLParser.DRAINED, 0)

        def DISK(self):
            return self.getToken(ESLParser.DISK, 0)

        def INODES(self):
            return self.getToken(ESLParser.INODES, 0)

        def QUOTA(self):
            return self.getToken(ESLParser.QUOTA, 0)

        def ABOVE(self):
            return self.getToken(ESLParser.ABOVE, 0)

        def RECURRING(self):
            return self.getToken(ESLParser.RECURRING, 0)

        def TIMES(self):
            return self.getToken(ESLParser.TIMES, 0)

        def WITHIN(self):
            return self.getToken(ESLParser.WITHIN, 0)

        def TIMEOUT(self):
            return self.getToken(ESLParser.TIMEOUT, 0)

        def WARMUP(self):
            return self.getToken(ESLParser.WARMUP, 0)

        def LIMIT(self):
            return self.getToken(ESLParser.LIMIT, 0)

        def BACKOFF(self):
            return self.getToken(ESLParser.BACKOFF, 0)

        def ELSE(self):
            return self.getToken(ESLParser.ELSE, 0)

        def FAIL(self):
            return self.getToken(ESLParser.FAIL, 0)

        def PAUSE(self):
            return self.getToken(ESLParser.PAUSE, 0)

        def ESCALATE(self):
            return self.getToken(ESLParser.ESCALATE, 0)

        def RAISE(self):
            return self.getToken(ESLParser.RAISE, 0)

        def SEVERITY(self):
            return self.getToken(ESLParser.SEVERITY, 0)

        def STDOUT(self):
            return self.getToken(ESLParser.STDOUT, 0)

        def STDERR(self):
            return self.getToken(ESLParser.STDERR, 0)

        def OUTPUT(self):
            return self.getToken(ESLParser.OUTPUT, 0)

        def FILE(self):
            return self.getToken(ESLParser.FILE, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_word

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitWord" ):
                return visitor.visitWord(self)
            else:
                return visitor.visitChildren(self)




    def word(self):

        localctx = ESLParser.WordContext(self, self._ctx, self.state)
        self.enterRule(localctx, 24, self.RULE_word)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 232
            _la = self._input.LA(1)
            if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 281474976710654) != 0)):
                self._errHandler.recoverInline(self)
            else:
                self._errHandler.reportMatch(self)
                self.consume()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ClauseContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser


        def getRuleIndex(self):
            return ESLParser.RULE_clause

     
        def copyFrom(self, ctx:ParserRuleContext):
            super().copyFrom(ctx)



    class OtherwiseContext(ClauseContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.ClauseContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def ELSE(self):
            return self.getToken(ESLParser.ELSE, 0)
        def FAIL(self):
            return self.getToken(ESLParser.FAIL, 0)
        def PAUSE(self):
            return self.getToken(ESLParser.PAUSE, 0)
        def ESCALATE(self):
            return self.getToken(ESLParser.ESCALATE, 0)
        def exceptionName(self):
            return self.getTypedRuleContext(ESLParser.ExceptionNameContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitOtherwise" ):
                return visitor.visitOtherwise(self)
            else:
                return visitor.visitChildren(self)


    class BackoffContext(ClauseContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.ClauseContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def BACKOFF(self):
            return self.getToken(ESLParser.BACKOFF, 0)
        def seconds(self):
            return self.getTypedRuleContext(ESLParser.SecondsContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitBackoff" ):
                return visitor.visitBackoff(self)
            else:
                return visitor.visitChildren(self)


    class LimitContext(ClauseContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.ClauseContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def LIMIT(self):
            return self.getToken(ESLParser.LIMIT, 0)
        def count(self):
            return self.getTypedRuleContext(ESLParser.CountContext,0)

        def within(self):
            return self.getTypedRuleContext(ESLParser.WithinContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitLimit" ):
                return visitor.visitLimit(self)
            else:
                return visitor.visitChildren(self)


    class RaiseContext(ClauseContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.ClauseContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def RAISE(self):
            return self.getToken(ESLParser.RAISE, 0)
        def STRING(self):
            return self.getToken(ESLParser.STRING, 0)
        def severity(self):
            return self.getTypedRuleContext(ESLParser.SeverityContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitRaise" ):
                return visitor.visitRaise(self)
            else:
                return visitor.visitChildren(self)



    def clause(self):

        localctx = ESLParser.ClauseContext(self, self._ctx, self.state)
        self.enterRule(localctx, 26, self.RULE_clause)
        self._la = 0 # Token type
        try:
            self.state = 255
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [35]:
                localctx = ESLParser.LimitContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 234
                self.match(ESLParser.LIMIT)
                self.state = 235
                self.count()
                self.state = 237
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==32:
                    self.state = 236
                    self.within()


                pass
            elif token in [36]:
                localctx = ESLParser.BackoffContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 239
                self.match(ESLParser.BACKOFF)
                self.state = 240
                self.seconds()
                pass
            elif token in [37]:
                localctx = ESLParser.OtherwiseContext(self, localctx)
                self.enterOuterAlt(localctx, 3)
                self.state = 241
                self.match(ESLParser.ELSE)
                self.state = 248
                self._errHandler.sync(self)
                token = self._input.LA(1)
                if token in [38]:
                    self.state = 242
                    self.match(ESLParser.FAIL)
                    pass
                elif token in [39]:
                    self.state = 243
                    self.match(ESLParser.PAUSE)
                    pass
                elif token in [40]:
                    self.state = 244
                    self.match(ESLParser.ESCALATE)
                    self.state = 246
                    self._errHandler.sync(self)
                    la_ = self._interp.adaptivePredict(self._input,26,self._ctx)
                    if la_ == 1:
                        self.state = 245
                        self.exceptionName()


                    pass
                else:
                    raise NoViableAltException(self)

                pass
            elif token in [41]:
                localctx = ESLParser.RaiseContext(self, localctx)
                self.enterOuterAlt(localctx, 4)
                self.state = 250
                self.match(ESLParser.RAISE)
                self.state = 251
                self.match(ESLParser.STRING)
                self.state = 253
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==42:
                    self.state = 252
                    self.severity()


                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class DetectionContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser


        def getRuleIndex(self):
            return ESLParser.RULE_detection

     
        def copyFrom(self, ctx:ParserRuleContext):
            super().copyFrom(ctx)



    class ExitContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def EXIT(self):
            return self.getToken(ESLParser.EXIT, 0)
        def ANY(self):
            return self.getToken(ESLParser.ANY, 0)
        def codes(self):
            return self.getTypedRuleContext(ESLParser.CodesContext,0)

        def SIGNAL(self):
            return self.getToken(ESLParser.SIGNAL, 0)
        def signal(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(ESLParser.SignalContext)
            else:
                return self.getTypedRuleContext(ESLParser.SignalContext,i)

        def EXCEPT(self):
            return self.getToken(ESLParser.EXCEPT, 0)
        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.COMMA)
            else:
                return self.getToken(ESLParser.COMMA, i)

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitExit" ):
                return visitor.visitExit(self)
            else:
                return visitor.visitChildren(self)


    class NodeContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def NODE(self):
            return self.getToken(ESLParser.NODE, 0)
        def DOWN(self):
            return self.getToken(ESLParser.DOWN, 0)
        def DRAINED(self):
            return self.getToken(ESLParser.DRAINED, 0)

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitNode" ):
                return visitor.visitNode(self)
            else:
                return visitor.visitChildren(self)


    class HangContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def HANG(self):
            return self.getToken(ESLParser.HANG, 0)
        def pattern(self):
            return self.getTypedRuleContext(ESLParser.PatternContext,0)

        def source(self):
            return self.getTypedRuleContext(ESLParser.SourceContext,0)

        def timer(self):
            return self.getTypedRuleContext(ESLParser.TimerContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitHang" ):
                return visitor.visitHang(self)
            else:
                return visitor.visitChildren(self)


    class DiskContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def STRING(self):
            return self.getToken(ESLParser.STRING, 0)
        def ABOVE(self):
            return self.getToken(ESLParser.ABOVE, 0)
        def percent(self):
            return self.getTypedRuleContext(ESLParser.PercentContext,0)

        def PERCENT(self):
            return self.getToken(ESLParser.PERCENT, 0)
        def DISK(self):
            return self.getToken(ESLParser.DISK, 0)
        def INODES(self):
            return self.getToken(ESLParser.INODES, 0)
        def QUOTA(self):
            return self.getToken(ESLParser.QUOTA, 0)

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitDisk" ):
                return visitor.visitDisk(self)
            else:
                return visitor.visitChildren(self)


    class LogContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def pattern(self):
            return self.getTypedRuleContext(ESLParser.PatternContext,0)

        def source(self):
            return self.getTypedRuleContext(ESLParser.SourceContext,0)

        def recurring(self):
            return self.getTypedRuleContext(ESLParser.RecurringContext,0)

        def timer(self):
            return self.getTypedRuleContext(ESLParser.TimerContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitLog" ):
                return visitor.visitLog(self)
            else:
                return visitor.visitChildren(self)


    class JobExceptionContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def JOB(self):
            return self.getToken(ESLParser.JOB, 0)
        def EXCEPTION(self):
            return self.getToken(ESLParser.EXCEPTION, 0)
        def STRING(self):
            return self.getToken(ESLParser.STRING, 0)
        def severity(self):
            return self.getTypedRuleContext(ESLParser.SeverityContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitJobException" ):
                return visitor.visitJobException(self)
            else:
                return visitor.visitChildren(self)


    class MultipleContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def MULTIPLE(self):
            return self.getToken(ESLParser.MULTIPLE, 0)
        def patterns(self):
            return self.getTypedRuleContext(ESLParser.PatternsContext,0)

        def source(self):
            return self.getTypedRuleContext(ESLParser.SourceContext,0)

        def within(self):
            return self.getTypedRuleContext(ESLParser.WithinContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitMultiple" ):
                return visitor.visitMultiple(self)
            else:
                return visitor.visitChildren(self)


    class AnyOfContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def ANY(self):
            return self.getToken(ESLParser.ANY, 0)
        def patterns(self):
            return self.getTypedRuleContext(ESLParser.PatternsContext,0)

        def source(self):
            return self.getTypedRuleContext(ESLParser.SourceContext,0)

        def recurring(self):
            return self.getTypedRuleContext(ESLParser.RecurringContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitAnyOf" ):
                return visitor.visitAnyOf(self)
            else:
                return visitor.visitChildren(self)


    class ProgressContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def PROGRESS(self):
            return self.getToken(ESLParser.PROGRESS, 0)
        def STRING(self):
            return self.getToken(ESLParser.STRING, 0)
        def source(self):
            return self.getTypedRuleContext(ESLParser.SourceContext,0)

        def timer(self):
            return self.getTypedRuleContext(ESLParser.TimerContext,0)

        def MATCH(self):
            return self.getToken(ESLParser.MATCH, 0)

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitProgress" ):
                return visitor.visitProgress(self)
            else:
                return visitor.visitChildren(self)


    class CountedContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def EXCEPTION(self):
            return self.getToken(ESLParser.EXCEPTION, 0)
        def exceptionName(self):
            return self.getTypedRuleContext(ESLParser.ExceptionNameContext,0)

        def count(self):
            return self.getTypedRuleContext(ESLParser.CountContext,0)

        def TIMES(self):
            return self.getToken(ESLParser.TIMES, 0)
        def within(self):
            return self.getTypedRuleContext(ESLParser.WithinContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitCounted" ):
                return visitor.visitCounted(self)
            else:
                return visitor.visitChildren(self)


    class SilenceContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def SILENCE(self):
            return self.getToken(ESLParser.SILENCE, 0)
        def timer(self):
            return self.getTypedRuleContext(ESLParser.TimerContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitSilence" ):
                return visitor.visitSilence(self)
            else:
                return visitor.visitChildren(self)



    def detection(self):

        localctx = ESLParser.DetectionContext(self, self._ctx, self.state)
        self.enterRule(localctx, 28, self.RULE_detection)
        self._la = 0 # Token type
        try:
            self.state = 329
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [17]:
                localctx = ESLParser.HangContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 257
                self.match(ESLParser.HANG)
                self.state = 258
                self.pattern()
                self.state = 259
                self.source()
                self.state = 260
                self.timer()
                pass
            elif token in [13, 14]:
                localctx = ESLParser.LogContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 262
                self.pattern()
                self.state = 263
                self.source()
                self.state = 266
                self._errHandler.sync(self)
                token = self._input.LA(1)
                if token in [30]:
                    self.state = 264
                    self.recurring()
                    pass
                elif token in [33]:
                    self.state = 265
                    self.timer()
                    pass
                elif token in [-1, 59]:
                    pass
                else:
                    pass
                pass
            elif token in [15]:
                localctx = ESLParser.MultipleContext(self, localctx)
                self.enterOuterAlt(localctx, 3)
                self.state = 268
                self.match(ESLParser.MULTIPLE)
                self.state = 269
                self.patterns()
                self.state = 270
                self.source()
                self.state = 272
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==32:
                    self.state = 271
                    self.within()


                pass
            elif token in [16]:
                localctx = ESLParser.AnyOfContext(self, localctx)
                self.enterOuterAlt(localctx, 4)
                self.state = 274
                self.match(ESLParser.ANY)
                self.state = 275
                self.patterns()
                self.state = 276
                self.source()
                self.state = 278
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==30:
                    self.state = 277
                    self.recurring()


                pass
            elif token in [18]:
                localctx = ESLParser.SilenceContext(self, localctx)
                self.enterOuterAlt(localctx, 5)
                self.state = 280
                self.match(ESLParser.SILENCE)
                self.state = 281
                self.timer()
                pass
            elif token in [19]:
                localctx = ESLParser.ProgressContext(self, localctx)
                self.enterOuterAlt(localctx, 6)
                self.state = 282
                self.match(ESLParser.PROGRESS)
                self.state = 284
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==14:
                    self.state = 283
                    self.match(ESLParser.MATCH)


                self.state = 286
                self.match(ESLParser.STRING)
                self.state = 287
                self.source()
                self.state = 288
                self.timer()
                pass
            elif token in [20]:
                localctx = ESLParser.ExitContext(self, localctx)
                self.enterOuterAlt(localctx, 7)
                self.state = 290
                self.match(ESLParser.EXIT)
                self.state = 306
                self._errHandler.sync(self)
                token = self._input.LA(1)
                if token in [16]:
                    self.state = 291
                    self.match(ESLParser.ANY)
                    self.state = 294
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    if _la==21:
                        self.state = 292
                        self.match(ESLParser.EXCEPT)
                        self.state = 293
                        self.codes()


                    pass
                elif token in [22]:
                    self.state = 296
                    self.codes()
                    pass
                elif token in [23]:
                    self.state = 297
                    self.match(ESLParser.SIGNAL)
                    self.state = 298
                    self.signal()
                    self.state = 303
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==51:
                        self.state = 299
                        self.match(ESLParser.COMMA)
                        self.state = 300
                        self.signal()
                        self.state = 305
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)

                    pass
                else:
                    raise NoViableAltException(self)

                pass
            elif token in [11]:
                localctx = ESLParser.NodeContext(self, localctx)
                self.enterOuterAlt(localctx, 8)
                self.state = 308
                self.match(ESLParser.NODE)
                self.state = 309
                _la = self._input.LA(1)
                if not(_la==24 or _la==25):
                    self._errHandler.recoverInline(self)
                else:
                    self._errHandler.reportMatch(self)
                    self.consume()
                pass
            elif token in [26, 27, 28]:
                localctx = ESLParser.DiskContext(self, localctx)
                self.enterOuterAlt(localctx, 9)
                self.state = 310
                _la = self._input.LA(1)
                if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 469762048) != 0)):
                    self._errHandler.recoverInline(self)
                else:
                    self._errHandler.reportMatch(self)
                    self.consume()
                self.state = 311
                self.match(ESLParser.STRING)
                self.state = 312
                self.match(ESLParser.ABOVE)
                self.state = 313
                self.percent()
                self.state = 314
                self.match(ESLParser.PERCENT)
                pass
            elif token in [6]:
                localctx = ESLParser.CountedContext(self, localctx)
                self.enterOuterAlt(localctx, 10)
                self.state = 316
                self.match(ESLParser.EXCEPTION)
                self.state = 317
                self.exceptionName()
                self.state = 318
                self.count()
                self.state = 319
                self.match(ESLParser.TIMES)
                self.state = 321
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==32:
                    self.state = 320
                    self.within()


                pass
            elif token in [10]:
                localctx = ESLParser.JobExceptionContext(self, localctx)
                self.enterOuterAlt(localctx, 11)
                self.state = 323
                self.match(ESLParser.JOB)
                self.state = 324
                self.match(ESLParser.EXCEPTION)
                self.state = 325
                self.match(ESLParser.STRING)
                self.state = 327
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==42:
                    self.state = 326
                    self.severity()


                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class PatternContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def STRING(self):
            return self.getToken(ESLParser.STRING, 0)

        def LOG(self):
            return self.getToken(ESLParser.LOG, 0)

        def MATCH(self):
            return self.getToken(ESLParser.MATCH, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_pattern

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitPattern" ):
                return visitor.visitPattern(self)
            else:
                return visitor.visitChildren(self)




    def pattern(self):

        localctx = ESLParser.PatternContext(self, self._ctx, self.state)
        self.enterRule(localctx, 30, self.RULE_pattern)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 331
            _la = self._input.LA(1)
            if not(_la==13 or _la==14):
                self._errHandler.recoverInline(self)
            else:
                self._errHandler.reportMatch(self)
                self.consume()
            self.state = 332
            self.match(ESLParser.STRING)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class PatternsContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def OPEN(self):
            return self.getToken(ESLParser.OPEN, 0)

        def listed(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(ESLParser.ListedContext)
            else:
                return self.getTypedRuleContext(ESLParser.ListedContext,i)


        def CLOSE(self):
            return self.getToken(ESLParser.CLOSE, 0)

        def NEWLINE(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.NEWLINE)
            else:
                return self.getToken(ESLParser.NEWLINE, i)

        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.COMMA)
            else:
                return self.getToken(ESLParser.COMMA, i)

        def getRuleIndex(self):
            return ESLParser.RULE_patterns

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitPatterns" ):
                return visitor.visitPatterns(self)
            else:
                return visitor.visitChildren(self)




    def patterns(self):

        localctx = ESLParser.PatternsContext(self, self._ctx, self.state)
        self.enterRule(localctx, 32, self.RULE_patterns)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 334
            self.match(ESLParser.OPEN)
            self.state = 338
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==59:
                self.state = 335
                self.match(ESLParser.NEWLINE)
                self.state = 340
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 341
            self.listed()
            self.state = 345
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==59:
                self.state = 342
                self.match(ESLParser.NEWLINE)
                self.state = 347
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 364
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==51:
                self.state = 348
                self.match(ESLParser.COMMA)
                self.state = 352
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==59:
                    self.state = 349
                    self.match(ESLParser.NEWLINE)
                    self.state = 354
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 355
                self.listed()
                self.state = 359
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==59:
                    self.state = 356
                    self.match(ESLParser.NEWLINE)
                    self.state = 361
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 366
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 367
            self.match(ESLParser.CLOSE)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ListedContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def STRING(self):
            return self.getToken(ESLParser.STRING, 0)

        def LOG(self):
            return self.getToken(ESLParser.LOG, 0)

        def MATCH(self):
            return self.getToken(ESLParser.MATCH, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_listed

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitListed" ):
                return visitor.visitListed(self)
            else:
                return visitor.visitChildren(self)




    def listed(self):

        localctx = ESLParser.ListedContext(self, self._ctx, self.state)
        self.enterRule(localctx, 34, self.RULE_listed)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 370
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==13 or _la==14:
                self.state = 369
                _la = self._input.LA(1)
                if not(_la==13 or _la==14):
                    self._errHandler.recoverInline(self)
                else:
                    self._errHandler.reportMatch(self)
                    self.consume()


            self.state = 372
            self.match(ESLParser.STRING)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class SourceContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def STDOUT(self):
            return self.getToken(ESLParser.STDOUT, 0)

        def STDERR(self):
            return self.getToken(ESLParser.STDERR, 0)

        def OUTPUT(self):
            return self.getToken(ESLParser.OUTPUT, 0)

        def FILE(self):
            return self.getToken(ESLParser.FILE, 0)

        def STRING(self):
            return self.getToken(ESLParser.STRING, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_source

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitSource" ):
                return visitor.visitSource(self)
            else:
                return visitor.visitChildren(self)




    def source(self):

        localctx = ESLParser.SourceContext(self, self._ctx, self.state)
        self.enterRule(localctx, 36, self.RULE_source)
        try:
            self.state = 379
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [43]:
                self.enterOuterAlt(localctx, 1)
                self.state = 374
                self.match(ESLParser.STDOUT)
                pass
            elif token in [44]:
                self.enterOuterAlt(localctx, 2)
                self.state = 375
                self.match(ESLParser.STDERR)
                pass
            elif token in [45]:
                self.enterOuterAlt(localctx, 3)
                self.state = 376
                self.match(ESLParser.OUTPUT)
                pass
            elif token in [46]:
                self.enterOuterAlt(localctx, 4)
                self.state = 377
                self.match(ESLParser.FILE)
                self.state = 378
                self.match(ESLParser.STRING)
                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class RecurringContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def RECURRING(self):
            return self.getToken(ESLParser.RECURRING, 0)

        def count(self):
            return self.getTypedRuleContext(ESLParser.CountContext,0)


        def within(self):
            return self.getTypedRuleContext(ESLParser.WithinContext,0)


        def getRuleIndex(self):
            return ESLParser.RULE_recurring

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitRecurring" ):
                return visitor.visitRecurring(self)
            else:
                return visitor.visitChildren(self)




    def recurring(self):

        localctx = ESLParser.RecurringContext(self, self._ctx, self.state)
        self.enterRule(localctx, 38, self.RULE_recurring)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 381
            self.match(ESLParser.RECURRING)
            self.state = 382
            self.count()
            self.state = 384
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==32:
                self.state = 383
                self.within()


        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class WithinContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def WITHIN(self):
            return self.getToken(ESLParser.WITHIN, 0)

        def seconds(self):
            return self.getTypedRuleContext(ESLParser.SecondsContext,0)


        def getRuleIndex(self):
            return ESLParser.RULE_within

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitWithin" ):
                return visitor.visitWithin(self)
            else:
                return visitor.visitChildren(self)




    def within(self):

        localctx = ESLParser.WithinContext(self, self._ctx, self.state)
        self.enterRule(localctx, 40, self.RULE_within)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 386
            self.match(ESLParser.WITHIN)
            self.state = 387
            self.seconds()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class TimerContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def TIMEOUT(self):
            return self.getToken(ESLParser.TIMEOUT, 0)

        def seconds(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(ESLParser.SecondsContext)
            else:
                return self.getTypedRuleContext(ESLParser.SecondsContext,i)


        def WARMUP(self):
            return self.getToken(ESLParser.WARMUP, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_timer

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitTimer" ):
                return visitor.visitTimer(self)
            else:
                return visitor.visitChildren(self)




    def timer(self):

        localctx = ESLParser.TimerContext(self, self._ctx, self.state)
        self.enterRule(localctx, 42, self.RULE_timer)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 389
            self.match(ESLParser.TIMEOUT)
            self.state = 390
            self.seconds()
            self.state = 393
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==34:
                self.state = 391
                self.match(ESLParser.WARMUP)
                self.state = 392
                self.seconds()


        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class CodesContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def CODE(self):
            return self.getToken(ESLParser.CODE, 0)

        def code(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(ESLParser.CodeContext)
            else:
                return self.getTypedRuleContext(ESLParser.CodeContext,i)


        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.COMMA)
            else:
                return self.getToken(ESLParser.COMMA, i)

        def getRuleIndex(self):
            return ESLParser.RULE_codes

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitCodes" ):
                return visitor.visitCodes(self)
            else:
                return visitor.visitChildren(self)




    def codes(self):

        localctx = ESLParser.CodesContext(self, self._ctx, self.state)
        self.enterRule(localctx, 44, self.RULE_codes)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 395
            self.match(ESLParser.CODE)
            self.state = 396
            self.code()
            self.state = 401
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==51:
                self.state = 397
                self.match(ESLParser.COMMA)
                self.state = 398
                self.code()
                self.state = 403
                self._errHandler.sync(self)
                _la = self._input.LA(1)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class CodeContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def NUMBER(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.NUMBER)
            else:
                return self.getToken(ESLParser.NUMBER, i)

        def DASH(self):
            return self.getToken(ESLParser.DASH, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_code

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitCode" ):
                return visitor.visitCode(self)
            else:
                return visitor.visitChildren(self)




    def code(self):

        localctx = ESLParser.CodeContext(self, self._ctx, self.state)
        self.enterRule(localctx, 46, self.RULE_code)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 404
            self.match(ESLParser.NUMBER)
            self.state = 407
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==55:
                self.state = 405
                self.match(ESLParser.DASH)
                self.state = 406
                self.match(ESLParser.NUMBER)


        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class SeverityContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def SEVERITY(self):
            return self.getToken(ESLParser.SEVERITY, 0)

        def count(self):
            return self.getTypedRuleContext(ESLParser.CountContext,0)


        def getRuleIndex(self):
            return ESLParser.RULE_severity

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitSeverity" ):
                return visitor.visitSeverity(self)
            else:
                return visitor.visitChildren(self)




    def severity(self):

        localctx = ESLParser.SeverityContext(self, self._ctx, self.state)
        self.enterRule(localctx, 48, self.RULE_severity)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 409
            self.match(ESLParser.SEVERITY)
            self.state = 410
            self.count()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class SignalContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def IDENTIFIER(self):
            return self.getToken(ESLParser.IDENTIFIER, 0)

        def NUMBER(self):
            return self.getToken(ESLParser.NUMBER, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_signal

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitSignal" ):
                return visitor.visitSignal(self)
            else:
                return visitor.visitChildren(self)




    def signal(self):

        localctx = ESLParser.SignalContext(self, self._ctx, self.state)
        self.enterRule(localctx, 50, self.RULE_signal)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 412
            _la = self._input.LA(1)
            if not(_la==47 or _la==48):
                self._errHandler.recoverInline(self)
            else:
                self._errHandler.reportMatch(self)
                self.consume()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class CountContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def NUMBER(self):
            return self.getToken(ESLParser.NUMBER, 0)

        def DASH(self):
            return self.getToken(ESLParser.DASH, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_count

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitCount" ):
                return visitor.visitCount(self)
            else:
                return visitor.visitChildren(self)




    def count(self):

        localctx = ESLParser.CountContext(self, self._ctx, self.state)
        self.enterRule(localctx, 52, self.RULE_count)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 415
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==55:
                self.state = 414
                self.match(ESLParser.DASH)


            self.state = 417
            self.match(ESLParser.NUMBER)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class SecondsContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def NUMBER(self):
            return self.getToken(ESLParser.NUMBER, 0)

        def DASH(self):
            return self.getToken(ESLParser.DASH, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_seconds

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitSeconds" ):
                return visitor.visitSeconds(self)
            else:
                return visitor.visitChildren(self)




    def seconds(self):

        localctx = ESLParser.SecondsContext(self, self._ctx, self.state)
        self.enterRule(localctx, 54, self.RULE_seconds)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 420
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==55:
                self.state = 419
                self.match(ESLParser.DASH)


            self.state = 422
            self.match(ESLParser.NUMBER)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class PercentContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def NUMBER(self):
            return self.getToken(ESLParser.NUMBER, 0)

        def DASH(self):
            return self.getToken(ESLParser.DASH, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_percent

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitPercent" ):
                return visitor.visitPercent(self)
            else:
                return visitor.visitChildren(self)




    def percent(self):

        localctx = ESLParser.PercentContext(self, self._ctx, self.state)
        self.enterRule(localctx, 56, self.RULE_percent)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 425
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==55:
                self.state = 424
                self.match(ESLParser.DASH)


            self.state = 427
            self.match(ESLParser.NUMBER)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx





